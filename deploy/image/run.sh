#!/bin/sh
# Runs a process of Berth in its container, as the Procfile says it: run.sh web|edge|worker|release; other words are a command.
set -eu
cd /opt/berth
group=berth
data=$BERTH_DATA_DIR

command_of() { sed -n "s/^$1: node //p" Procfile; }

# The web and edge processes reach the worker by this socket, which only root may open otherwise. Without VMs there is none.
share_socket() {
  sh src/start/node.sh deploy/ready.ts worker --wait 3600 || return 0
  [ ! -S "$data/run/node.sock" ] || { chgrp "$group" "$data/run/node.sock" && chmod 660 "$data/run/node.sock"; }
}

case "${1:-}" in
  web | edge)
    # shellcheck disable=SC2046 # the words of a command
    exec sh src/start/node.sh $(command_of "$1")
    ;;
  worker)
    share_socket &
    # shellcheck disable=SC2046 # the words of a command
    exec sh src/start/node.sh $(command_of "$1")
    ;;
  release)
    # shellcheck disable=SC2046 # the words of a command
    sh src/start/node.sh $(command_of "$1")
    # The edge process reads the authority of databases, and the worker makes no other.
    sh src/start/node.sh src/edge/ca.ts >/dev/null
    chown "$group:$group" "$data/databases-authority.pem"
    ;;
  *) exec "$@" ;;
esac
