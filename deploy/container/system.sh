# Make the root file system ROOT from the files of a few installed Debian packages: Python, its libraries, and a shell.
set -eu
root=$1
# libstdc++6 is for numpy, tzdata for the variable TZ, libnghttp2-14 for the kernel's gRPC connections.
packages="base-files dash libc6 libgcc-s1 libstdc++6 tzdata zlib1g libexpat1 libssl3 libffi8 libbz2-1.0 liblzma5
    libuuid1 libcrypt1 libnghttp2-14 python3-minimal python3.11-minimal libpython3.11-minimal libpython3.11-stdlib"

mkdir -p "$root/usr/bin" "$root/usr/lib" "$root/usr/lib64" "$root/usr/sbin"
for each in bin lib lib64 sbin; do ln -s "usr/$each" "$root/$each"; done
# Without documentation, character sets that are not Unicode, and files for builds or tests only.
dpkg -L $packages | sort -u | while read -r path; do
    case $path in
        /usr/share/doc* | /usr/share/man* | /usr/share/lintian* | /usr/share/bug* | /usr/share/python3* | /usr/share/binfmts* | \
        */gconv* | /usr/lib/python3.11/test* | /usr/lib/python3.11/lib2to3* | /usr/lib/python3.11/pydoc_data* | \
        /usr/lib/python3.11/distutils* | /usr/lib/python3.11/ensurepip* | /usr/lib/python3.11/idlelib* | \
        /usr/lib/python3.11/tkinter* | /usr/lib/python3.11/unittest* | /usr/lib/python3.11/sqlite3* | \
        /usr/lib/python3.11/lib-dynload/_codecs_* | /usr/lib/python3.11/lib-dynload/_sqlite3*) ;;
        *) if [ -h "$path" ] || [ -f "$path" ]; then echo "${path#/}"; fi ;;
    esac
done >/build/files
tar -C / --hard-dereference -cf - -T /build/files | tar -C "$root" --keep-directory-symlink -xf -
ln -sf dash "$root/usr/bin/sh"
ln -sf python3.11 "$root/usr/bin/python3"

mkdir -p "$root/tmp" "$root/data" "$root/etc" "$root/proc" "$root/sys" "$root/dev"
chmod 1777 "$root/tmp"
chown 10001:10001 "$root/data"
printf 'root:x:0:0:root:/root:/bin/sh\nrocketwire:x:10001:10001:rocketwire:/data:/bin/sh\n' >"$root/etc/passwd"
printf 'root:x:0:\nrocketwire:x:10001:\n' >"$root/etc/group"
printf 'passwd: files\ngroup: files\nhosts: files dns\n' >"$root/etc/nsswitch.conf"

# Compiled, since the image's user could write no bytecode, and without sources: both would be 20 MB more with the
# packages'. A traceback still has names and line numbers.
python3 -m compileall -q -b --invalidation-mode unchecked-hash -s "$root" "$root/usr/lib/python3.11"
find "$root/usr/lib/python3.11" -name '*.py' -delete
