interface PackageManager {
  /** Files in which people say which packages they want, and where those come from. `*` stands for any letters. */
  manifests: readonly string[]
  /** Files in which it writes down exact versions. */
  locks?: readonly string[]
  /** Folders that it alone fills, with what it writes there last. `target` and `deps` are not among them: every build changes them. */
  installs?: Record<string, readonly string[]>
  /** What it is called, and what it starts: another version of one of them may give tests another result. */
  programs: readonly string[]
}

const VENV = { '.venv': ['pyvenv.cfg'], venv: ['pyvenv.cfg'] }
const PYTHON = ['python3', 'python']

/**
 * The files of every manager that `pcc init` recognises, and of some others. `MANIFEST` and `LOCK_FILE` are made from this table and match the names in
 * every project, whatever its language. What to type for a manager is in src/workspace/detect, and how a lock file is searched for a name is in
 * src/policy/programs/lock-files.ts.
 */
export const PACKAGE_MANAGERS = {
  npm: {
    manifests: ['package.json'],
    locks: ['package-lock.json', 'npm-shrinkwrap.json'],
    installs: { node_modules: ['.package-lock.json'] },
    programs: ['node', 'npm'],
  },
  pnpm: {
    manifests: ['package.json', 'pnpm-workspace.yaml'],
    locks: ['pnpm-lock.yaml'],
    installs: { node_modules: ['.modules.yaml'] },
    programs: ['node', 'pnpm'],
  },
  yarn: {
    manifests: ['package.json', '.yarnrc.yml'],
    locks: ['yarn.lock'],
    installs: { node_modules: ['.yarn-integrity', '.yarn-state.yml'] },
    programs: ['node', 'yarn'],
  },
  bun: {
    manifests: ['package.json'],
    locks: ['bun.lock', 'bun.lockb'],
    installs: { node_modules: [] },
    programs: ['bun'],
  },
  deno: { manifests: ['deno.json', 'deno.jsonc', 'package.json'], locks: ['deno.lock'], programs: ['deno'] },
  uv: { manifests: ['pyproject.toml'], locks: ['uv.lock'], installs: VENV, programs: ['uv', ...PYTHON] },
  poetry: { manifests: ['pyproject.toml'], locks: ['poetry.lock'], installs: VENV, programs: ['poetry', ...PYTHON] },
  pdm: { manifests: ['pyproject.toml'], locks: ['pdm.lock'], installs: VENV, programs: ['pdm', ...PYTHON] },
  pipenv: { manifests: ['Pipfile'], locks: ['Pipfile.lock'], installs: VENV, programs: ['pipenv', ...PYTHON] },
  hatch: { manifests: ['pyproject.toml'], programs: ['hatch', ...PYTHON] },
  pip: {
    manifests: ['requirements*.txt', 'requirements*.in', 'constraints.txt', 'pyproject.toml', 'setup.py', 'setup.cfg'],
    installs: VENV,
    programs: PYTHON,
  },
  conda: { manifests: ['environment.yml'], programs: ['conda', ...PYTHON] },
  pixi: { manifests: ['pixi.toml'], locks: ['pixi.lock'], programs: ['pixi'] },
  cargo: { manifests: ['Cargo.toml'], locks: ['Cargo.lock'], programs: ['cargo', 'rustc'] },
  go: {
    manifests: ['go.mod', 'go.work'],
    locks: ['go.sum', 'go.work.sum'],
    installs: { vendor: ['modules.txt'] },
    programs: ['go'],
  },
  composer: {
    manifests: ['composer.json'],
    locks: ['composer.lock'],
    installs: { vendor: ['composer/installed.json'] },
    programs: ['php', 'composer'],
  },
  bundler: {
    manifests: ['Gemfile', '*.gemspec'],
    locks: ['Gemfile.lock'],
    installs: { vendor: [] },
    programs: ['ruby', 'bundle'],
  },
  mix: { manifests: ['mix.exs'], locks: ['mix.lock'], programs: ['mix', 'elixir', 'erl'] },
  dart: { manifests: ['pubspec.yaml'], locks: ['pubspec.lock'], programs: ['dart'] },
  flutter: { manifests: ['pubspec.yaml'], locks: ['pubspec.lock'], programs: ['flutter', 'dart'] },
  dotnet: {
    manifests: ['*.csproj', '*.fsproj', '*.vbproj', '*.sln', '*.slnx', 'Directory.Packages.props', 'nuget.config'],
    locks: ['packages.lock.json'],
    programs: ['dotnet'],
  },
  maven: { manifests: ['pom.xml'], programs: ['mvn', 'java'] },
  gradle: {
    manifests: [
      ...['build.gradle', 'build.gradle.kts', 'settings.gradle', 'settings.gradle.kts'],
      'libs.versions.toml',
    ],
    locks: ['gradle.lockfile'],
    programs: ['gradle', 'java'],
  },
  swiftpm: { manifests: ['Package.swift'], locks: ['Package.resolved'], programs: ['swift'] },
  cocoapods: { manifests: ['Podfile'], locks: ['Podfile.lock'], programs: ['pod', 'xcodebuild'] },
  sbt: { manifests: ['*.sbt'], programs: ['sbt', 'java'] },
  zig: { manifests: ['build.zig', 'build.zig.zon'], programs: ['zig'] },
  stack: { manifests: ['stack.yaml'], locks: ['stack.yaml.lock'], programs: ['stack', 'ghc'] },
  cabal: { manifests: ['*.cabal', 'cabal.project'], locks: ['cabal.project.freeze'], programs: ['cabal', 'ghc'] },
  dune: { manifests: ['dune-project', '*.opam'], programs: ['dune', 'ocaml'] },
  bazel: { manifests: ['MODULE.bazel'], locks: ['MODULE.bazel.lock'], programs: ['bazel'] },
  cmake: { manifests: ['CMakeLists.txt'], programs: ['cmake', 'ctest'] },
  nix: { manifests: ['flake.nix'], locks: ['flake.lock'], programs: ['nix'] },
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

/** Programs of all managers, and of the languages that they are for. */
export const MANAGED_PROGRAMS: readonly string[] = [...new Set(ALL.flatMap(({ programs }) => programs))]

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
