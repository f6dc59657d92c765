# For `.` in scripts that build a Debian source package as static, position-independent, hidden
# libraries: abseil_pic.sh, zydis_pic.sh. They set
#   script    its file name, for messages
#   root      the project's directory
#   prefix    where the libraries go
#   recipe    what they are built by; another recipe builds them anew
# then call unpack_source and build_library. Ends the script here, without any network, when prefix
# holds what recipe says.
# shellcheck shell=sh disable=SC2154 # the variables above

case $prefix in
  /*) ;;
  *) prefix=$PWD/$prefix ;;
esac
if [ "$(cat "$prefix/alloctap-recipe" 2>/dev/null)" = "$recipe" ]; then
  exit 0
fi

sh "$root/cmake/install_packages.sh" cmake dpkg-dev g++ ninja-build

work=$(mktemp -d)
staged=$prefix.new.$$
trap 'rm -rf "$work" "$staged"' EXIT
trap 'exit 1' HUP INT TERM

# run WHAT COMMAND...: quiet, but shows the end of the output if COMMAND fails.
run() {
  what=$1
  shift
  "$@" >"$work/log" 2>&1 || {
    tail -n 30 "$work/log" >&2
    echo "$script: $what failed" >&2
    exit 1
  }
}

# unpack_source PACKAGE: into $work/source, from the sources that the machine itself has, taken as
# sources of source packages, in a directory of ours.
unpack_source() {
  package=$1
  mkdir -p "$work/parts" "$work/lists/partial" "$work/cache/archives/partial" "$work/package"
  eval "$(apt-config shell list Dir::Etc::sourcelist/f parts Dir::Etc::sourceparts/d)"
  # shellcheck disable=SC2154 # that assigned list and parts
  for file in "$list" "$parts"/*.list "$parts"/*.sources; do
    if ! [ -r "$file" ] || ! [ -f "$file" ]; then
      continue
    fi
    case $file in
      *.sources) sed 's/^[Tt]ypes:.*/Types: deb-src/' "$file" ;;
      *) sed -n 's/^[[:space:]]*deb\(-src\)\{0,1\}[[:space:]]/deb-src /p' "$file" | sort -u ;;
    esac >"$work/parts/$(basename "$file")"
  done
  cat >"$work/apt.conf" <<END
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$work/parts";
Dir::State::Lists "$work/lists";
Dir::Cache "$work/cache";
APT::Sandbox::User "root";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
END

  echo "$script: fetching the source of $package"
  # A third-party source without source packages makes the update fail; what counts is the download.
  apt-get -c "$work/apt.conf" -q update >"$work/update.log" 2>&1 || true
  cd "$work/package" || exit
  apt-get -c "$work/apt.conf" -q source --download-only "$package" >"$work/log" 2>&1 || {
    tail -n 20 "$work/update.log" "$work/log" >&2
    echo "$script: no source package $package; is a Debian mirror reachable?" >&2
    exit 1
  }
  run "unpacking" dpkg-source -x ./*.dsc "$work/source"
}

# build_library TIME OPTION...: builds $work/source by CMake with these options and puts it at $prefix:
# all that it installs, or of its CMake targets those of the list $targets and the headers in $headers.
build_library() {
  echo "$script: building it ($1)"
  shift
  # Where it cannot keep anything, it refuses to compile.
  export CCACHE_BASEDIR="$work" CCACHE_NOHASHDIR=1
  echo 'int probed;' >"$work/probe.c"
  if ccache cc -c "$work/probe.c" -o "$work/probe.o" 2>/dev/null; then
    set -- "$@" -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
  fi
  run "configuring" cmake -G Ninja -S "$work/source" -B "$work/build" \
    -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_LIBDIR=lib "$@"
  # shellcheck disable=SC2086 # a list
  run "building" cmake --build "$work/build" --parallel "$(nproc)" ${targets:+--target $targets}
  if [ -n "${targets:-}" ]; then
    run "copying" copy_targets
  else
    run "installing" cmake --install "$work/build" --prefix "$staged"
  fi
  put_in_place
}

# copy_targets: what cmake --install would refuse to do where other targets are missing.
copy_targets() {
  mkdir -p "$staged/lib" "$staged/include"
  find "$work/build" -name 'lib*.a' -exec cp {} "$staged/lib" ';'
  cd "$work/source" || return
  find "$headers" '(' -name '*.h' -o -name '*.inc' ')' -exec cp --parents {} "$staged/include" ';'
}

# put_in_place: what stands in $staged is what the recipe makes.
put_in_place() {
  echo "$recipe" >"$staged/alloctap-recipe"
  rm -rf "$prefix"
  mv "$staged" "$prefix"
  echo "$script: ready in $prefix"
}
