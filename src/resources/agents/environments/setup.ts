/** The commands that prepare a new VM of an environment: its packages, manager by manager, then its setup script. */
import { packageManagers, type PackageManager, type VmConfig } from './configs.ts'

/** One command, its name in errors, and the user it runs as. */
export type SetupStep = { what: string; argv: readonly string[]; as: 'user' | 'root' }

/**
 * `cargo` and `npm` are not in every template, so they are installed when missing. Programs are installed in folders on
 * the PATH.
 */
const installers: Readonly<Record<PackageManager, { as: 'user' | 'root'; script: string }>> = {
  apt: {
    as: 'root',
    script: 'apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends -- "$@"',
  },
  pip: { as: 'user', script: 'python3 -m pip install --user --no-input -q -- "$@"' },
  npm: {
    as: 'user',
    script:
      'command -v npm > /dev/null || { sudo apt-get update -q && sudo apt-get install -y -q --no-install-recommends npm; } && npm install --global --prefix "$HOME/.local" -- "$@"',
  },
  cargo: {
    as: 'user',
    script:
      'command -v cargo > /dev/null || { sudo apt-get update -q && sudo apt-get install -y -q --no-install-recommends cargo gcc libc6-dev; } && cargo install --root "$HOME/.local" -- "$@"',
  },
  gem: { as: 'user', script: 'gem install --user-install --bindir "$HOME/.local/bin" --no-document -- "$@"' },
  go: {
    as: 'user',
    script:
      'export GOBIN="$HOME/.local/bin"; for package in "$@"; do case $package in *@*) ;; *) package=$package@latest ;; esac; go install "$package" || exit; done',
  },
}

/** The steps, in order. Each may run again: when a worker dies in the middle, another one continues. */
export function setupSteps({ packages, setup_script }: Pick<VmConfig, 'packages' | 'setup_script'>): SetupStep[] {
  const installing = packageManagers
    .filter((manager) => packages[manager].length > 0)
    .map((manager): SetupStep => {
      const { as, script } = installers[manager]
      return {
        what: `installing packages with ${manager}`,
        argv: ['/bin/bash', '-c', script, manager, ...packages[manager]],
        as,
      }
    })
  return setup_script === null
    ? installing
    : [...installing, { what: 'the setup script', argv: ['/bin/bash', '-lc', setup_script], as: 'user' }]
}
