package io.github.rocketwire.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;

/** The folder of a store that lives as long as its server. */
final class TemporaryStore {
    private TemporaryStore() {}

    static Path make() {
        try {
            return Files.createTempDirectory("rocketwire-");
        } catch (IOException error) {
            throw new UncheckedIOException("no folder for a store can be made", error);
        }
    }

    static void remove(Path folder) {
        try {
            Files.walkFileTree(folder, new SimpleFileVisitor<Path>() {
                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                    Files.delete(file);
                    return FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult postVisitDirectory(Path visited, IOException error) throws IOException {
                    Files.delete(visited);
                    return FileVisitResult.CONTINUE;
                }
            });
        } catch (IOException error) {
            throw new UncheckedIOException("the store in " + folder + " cannot be removed", error);
        }
    }
}
