interface PackageManager {
  /** Files in which people say which packages they want, and where those come from. `*` stands for any letters. */
  manifests: readonly string[]
  /** Files in which it writes down exact versions. */
  locks?: readonly string[]
  /** Folders that it alone fills, with what it writes there last. `target` and `deps` are not among them: every build changes them. */
  installs?: Record<string, readonly string[]>
}

const VENV = { '.venv': ['pyvenv.cfg'], venv: ['pyvenv.cfg'] }

/**
 * The files of every manager that `pcc init` recognises, and of some others. Whoever asks whether a file is a manifest or a lock file asks here; what
 * to type for a manager is in src/workspace/detect, and how a lock file is searched for a name is in src/policy/programs/lock-files.ts.
 */
export const PACKAGE_MANAGERS = {
  npm: {
    manifests: ['package.json'],
    locks: ['package-lock.json', 'npm-shrinkwrap.json'],
    installs: { node_modules: ['.package-lock.json'] },
  },
  pnpm: {
    manifests: ['package.json', 'pnpm-workspace.yaml'],
    locks: ['pnpm-lock.yaml'],
    installs: { node_modules: ['.modules.yaml'] },
  },
  yarn: {
    manifests: ['package.json', '.yarnrc.yml'],
    locks: ['yarn.lock'],
    installs: { node_modules: ['.yarn-integrity', '.yarn-state.yml'] },
  },
  bun: { manifests: ['package.json'], locks: ['bun.lock', 'bun.lockb'], installs: { node_modules: [] } },
  deno: { manifests: ['deno.json', 'deno.jsonc', 'package.json'], locks: ['deno.lock'] },
  uv: { manifests: ['pyproject.toml'], locks: ['uv.lock'], installs: VENV },
  poetry: { manifests: ['pyproject.toml'], locks: ['poetry.lock'], installs: VENV },
  pdm: { manifests: ['pyproject.toml'], locks: ['pdm.lock'], installs: VENV },
  pipenv: { manifests: ['Pipfile'], locks: ['Pipfile.lock'], installs: VENV },
  hatch: { manifests: ['pyproject.toml'] },
  pip: {
    manifests: ['requirements*.txt', 'requirements*.in', 'constraints.txt', 'pyproject.toml', 'setup.py', 'setup.cfg'],
    installs: VENV,
  },
  conda: { manifests: ['environment.yml'] },
  pixi: { manifests: ['pixi.toml'], locks: ['pixi.lock'] },
  cargo: { manifests: ['Cargo.toml'], locks: ['Cargo.lock'] },
  go: { manifests: ['go.mod', 'go.work'], locks: ['go.sum', 'go.work.sum'], installs: { vendor: ['modules.txt'] } },
  composer: {
    manifests: ['composer.json'],
    locks: ['composer.lock'],
    installs: { vendor: ['composer/installed.json'] },
  },
  bundler: { manifests: ['Gemfile', '*.gemspec'], locks: ['Gemfile.lock'], installs: { vendor: [] } },
  mix: { manifests: ['mix.exs'], locks: ['mix.lock'] },
  dart: { manifests: ['pubspec.yaml'], locks: ['pubspec.lock'] },
  flutter: { manifests: ['pubspec.yaml'], locks: ['pubspec.lock'] },
  dotnet: {
    manifests: ['*.csproj', '*.fsproj', '*.vbproj', '*.sln', '*.slnx', 'Directory.Packages.props', 'nuget.config'],
    locks: ['packages.lock.json'],
  },
  maven: { manifests: ['pom.xml'] },
  gradle: {
    manifests: [
      ...['build.gradle', 'build.gradle.kts', 'settings.gradle', 'settings.gradle.kts'],
      'libs.versions.toml',
    ],
    locks: ['gradle.lockfile'],
  },
  swiftpm: { manifests: ['Package.swift'], locks: ['Package.resolved'] },
  cocoapods: { manifests: ['Podfile'], locks: ['Podfile.lock'] },
  sbt: { manifests: ['*.sbt'] },
  zig: { manifests: ['build.zig', 'build.zig.zon'] },
  stack: { manifests: ['stack.yaml'], locks: ['stack.yaml.lock'] },
  cabal: { manifests: ['*.cabal', 'cabal.project'], locks: ['cabal.project.freeze'] },
  dune: { manifests: ['dune-project', '*.opam'] },
  bazel: { manifests: ['MODULE.bazel'], locks: ['MODULE.bazel.lock'] },
  cmake: { manifests: ['CMakeLists.txt'] },
  nix: { manifests: ['flake.nix'], locks: ['flake.lock'] },
} as const satisfies Record<string, PackageManager>
export type PackageManagerName = keyof typeof PACKAGE_MANAGERS

const ALL: readonly PackageManager[] = Object.values(PACKAGE_MANAGERS)

/** Lock files by their names. */
export const LOCK_FILES: readonly string[] = [...new Set(ALL.flatMap(({ locks = [] }) => locks))]

/** The path of a lock file, in any folder. */
export const LOCK_FILE = named(LOCK_FILES)

/** The path of a manifest, in any folder. */
export const MANIFEST = named(ALL.flatMap(({ manifests }) => manifests))

/** The paths of the manifests that a lock file follows. */
export function manifestsOf(lock: string): RegExp {
  return named(ALL.flatMap(({ manifests, locks = [] }) => (named(locks).test(lock) ? manifests : [])))
}

/** Folders that installers fill, by their names, with the files in them that an installer writes last. */
export const INSTALLED: ReadonlyMap<string, readonly string[]> = new Map(
  [
    ...Map.groupBy(
      ALL.flatMap(({ installs = {} }) => Object.entries(installs)),
      ([folder]) => folder,
    ),
  ].map(([folder, found]) => [folder, [...new Set(found.flatMap(([, records]) => records))]]),
)

function named(names: readonly string[]): RegExp {
  const shapes = new Set(names.map(name => RegExp.escape(name).replaceAll('\\*', '[^/]*')))
  return new RegExp(`(^|/)(${[...shapes].join('|')})$`, 'i')
}
