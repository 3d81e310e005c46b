"""The timer's durable half: its log of units, its wheel, and how far both got."""
