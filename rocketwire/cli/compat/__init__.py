"""`rocketwire compat`: which official clients work with an endpoint, one module per subcommand."""
        ("report", "rocketwire.cli.compat.report", "make one report of the results of earlier runs"),
    ],
)
