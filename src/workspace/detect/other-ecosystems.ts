import type { PackageManagerName } from '../../domain/package-managers.ts'
import type { CommandKind } from '../../domain/project-facts.ts'
import {
  commandsFromScripts,
  declaredCommand,
  type Ecosystem,
  type FoundCommand,
  firstOfEach,
  usualCommand,
} from './ecosystem.ts'
import { tableIn, textsIn } from './project-files.ts'

/** Go. Modules of a `go.work` are tested one by one: `./...` ends where the next module begins. */
export const go: Ecosystem = async folder => {
  if (!folder.has('go.mod')) return undefined
  const golangci = folder.first(['.golangci.yml', '.golangci.yaml', '.golangci.toml', '.golangci.json'])
  return {
    ecosystem: 'go',
    manager: 'go',
    manager_from: 'go.mod',
    commands: firstOfEach([
      usualCommand('setup', 'go mod download', 'go.mod'),
      usualCommand('build', 'go build ./...', 'go.mod'),
      golangci !== undefined && declaredCommand('lint', 'golangci-lint run', golangci),
      usualCommand('lint', 'go vet ./...', 'go.mod'),
      usualCommand('test', 'go test ./...', 'go.mod'),
    ]),
  }
}

/** Rust: cargo. */
export const rust: Ecosystem = async folder => {
  if (!folder.has('Cargo.toml')) return undefined
  const manifest = await folder.toml('Cargo.toml')
  const workspace = tableIn(manifest, 'workspace')
  const isWorkspace = Object.hasOwn(manifest ?? {}, 'workspace')
  const all = isWorkspace ? ' --workspace' : ''
  const from = 'Cargo.toml'
  return {
    ecosystem: 'rust',
    manager: 'cargo',
    manager_from: folder.first(['Cargo.lock']) ?? from,
    commands: [
      usualCommand('setup', folder.has('Cargo.lock') ? 'cargo fetch --locked' : 'cargo fetch', from),
      usualCommand('build', `cargo build${all}`, from),
      usualCommand('typecheck', `cargo check${all} --all-targets`, from),
      usualCommand('lint', `cargo clippy${all} --all-targets`, from),
      usualCommand('format', 'cargo fmt --all --check', from),
      usualCommand('test', `cargo test${all}`, from),
    ],
    members: textsIn(workspace['members']),
  }
}

/** Java, Kotlin and other languages that Maven builds. */
export const maven: Ecosystem = async folder => {
  if (!folder.has('pom.xml')) return undefined
  const text = (await folder.text('pom.xml')) ?? ''
  const mvn = folder.has('mvnw') ? './mvnw -B' : 'mvn -B'
  return {
    ecosystem: 'jvm',
    manager: 'maven',
    manager_from: folder.first(['mvnw']) ?? 'pom.xml',
    commands: firstOfEach([
      usualCommand('build', `${mvn} -DskipTests package`, 'pom.xml'),
      text.includes('checkstyle-maven-plugin') && declaredCommand('lint', `${mvn} checkstyle:check`, 'pom.xml'),
      text.includes('spotless-maven-plugin') && declaredCommand('format', `${mvn} spotless:check`, 'pom.xml'),
      usualCommand('test', `${mvn} test`, 'pom.xml'),
    ]),
    members: [...text.matchAll(/<module>\s*([^<\s]+)\s*<\/module>/g)].map(match => match[1] ?? ''),
  }
}

/** Java, Kotlin and other languages that Gradle builds; folders below its settings file are built with it. */
export const gradle: Ecosystem = async folder => {
  const settings = folder.first(['settings.gradle.kts', 'settings.gradle'])
  const from = folder.first(['build.gradle.kts', 'build.gradle']) ?? settings
  if (from === undefined) return undefined
  const text = (await folder.text(from)) ?? ''
  const run = folder.has('gradlew') ? './gradlew' : 'gradle'
  return {
    ecosystem: 'jvm',
    manager: 'gradle',
    manager_from: folder.first(['gradlew']) ?? from,
    commands: firstOfEach([
      usualCommand('build', `${run} assemble`, from),
      text.includes('detekt') && declaredCommand('lint', `${run} detekt`, from),
      text.includes('ktlint') && declaredCommand('lint', `${run} ktlintCheck`, from),
      text.includes('spotless') && declaredCommand('format', `${run} spotlessCheck`, from),
      usualCommand('test', `${run} test`, from),
    ]),
    members: settings === undefined ? [] : ['**'],
  }
}

/** PHP: composer. */
export const php: Ecosystem = async folder => {
  if (!folder.has('composer.json')) return undefined
  const manifest = await folder.json('composer.json')
  const scripts = Object.entries(tableIn(manifest, 'scripts')).map(
    ([name, body]) => [name, Array.isArray(body) ? body.join(' ') : String(body)] as const,
  )
  const known = { ...tableIn(manifest, 'require'), ...tableIn(manifest, 'require-dev') }
  const [unit, stan, fixer] = [
    folder.first(['phpunit.xml', 'phpunit.xml.dist']),
    folder.first(['phpstan.neon', 'phpstan.neon.dist', 'phpstan.dist.neon']),
    folder.first(['.php-cs-fixer.php', '.php-cs-fixer.dist.php']),
  ]
  return {
    ecosystem: 'php',
    manager: 'composer',
    manager_from: folder.first(['composer.lock']) ?? 'composer.json',
    commands: firstOfEach([
      usualCommand('setup', 'composer install', 'composer.json'),
      ...commandsFromScripts(new Map(scripts), {
        run: name => `composer run ${name}`,
        from: name => `composer.json: scripts.${name}`,
      }),
      stan !== undefined && usualCommand('typecheck', 'vendor/bin/phpstan analyse', stan),
      folder.has('psalm.xml') && usualCommand('typecheck', 'vendor/bin/psalm', 'psalm.xml'),
      folder.has('phpcs.xml') && usualCommand('lint', 'vendor/bin/phpcs', 'phpcs.xml'),
      folder.has('pint.json') && usualCommand('format', 'vendor/bin/pint --test', 'pint.json'),
      fixer !== undefined && usualCommand('format', 'vendor/bin/php-cs-fixer fix --dry-run --diff', fixer),
      Object.hasOwn(known, 'pestphp/pest') && usualCommand('test', 'vendor/bin/pest', 'composer.json'),
      unit !== undefined && usualCommand('test', 'vendor/bin/phpunit', unit),
    ]),
  }
}

/** Ruby: bundler. */
export const ruby: Ecosystem = async folder => {
  const from = folder.first(['Gemfile.lock', 'Gemfile'])
  if (from === undefined) return undefined
  const rubocop = folder.first(['.rubocop.yml'])
  const isRails = folder.hasFolder('bin') && folder.has('config.ru') && folder.hasFolder('app')
  const hasSpecs = folder.has('.rspec') || folder.hasFolder('spec')
  return {
    ecosystem: 'ruby',
    manager: 'bundler',
    manager_from: from,
    commands: firstOfEach([
      usualCommand('setup', 'bundle install', from),
      folder.hasFolder('sorbet') && usualCommand('typecheck', 'bundle exec srb tc', 'sorbet/'),
      rubocop !== undefined && usualCommand('lint', 'bundle exec rubocop', rubocop),
      hasSpecs && usualCommand('test', 'bundle exec rspec', folder.has('.rspec') ? '.rspec' : 'spec/'),
      isRails && folder.hasFolder('test') && usualCommand('test', 'bin/rails test', 'test/'),
      folder.has('Rakefile') && folder.hasFolder('test') && usualCommand('test', 'bundle exec rake test', 'Rakefile'),
    ]),
  }
}

/** C#, F#, Visual Basic: dotnet. A solution builds the projects below it. */
export const dotnet: Ecosystem = async folder => {
  const solutions = folder.matching(/\.slnx?$/i)
  const from = solutions[0] ?? folder.matching(/\.(cs|fs|vb)proj$/i)[0]
  if (from === undefined) return undefined
  const caution = solutions.length > 1 ? 'there are several solutions here: name the one that is meant' : undefined
  const command = (kind: FoundCommand['kind'], run: string): FoundCommand => ({
    ...usualCommand(kind, run, from),
    ...(caution !== undefined && { caution }),
  })
  return {
    ecosystem: 'dotnet',
    manager: 'dotnet',
    manager_from: from,
    commands: [
      command('setup', 'dotnet restore'),
      command('build', 'dotnet build'),
      command('format', 'dotnet format --verify-no-changes'),
      command('test', 'dotnet test'),
    ],
    members: solutions.length > 0 ? ['**'] : [],
  }
}

interface Plain {
  ecosystem: string
  manager: PackageManagerName
  /** The file by which it is recognised. */
  by: RegExp
  commands: Partial<Record<CommandKind, string>>
}

/** Ecosystems that are recognised by their manifest alone. The first that matches a folder is used. */
const PLAIN: readonly Plain[] = [
  {
    ecosystem: 'deno',
    manager: 'deno',
    by: /^deno\.jsonc?$/,
    commands: { typecheck: 'deno check .', lint: 'deno lint', format: 'deno fmt --check', test: 'deno test' },
  },
  {
    ecosystem: 'elixir',
    manager: 'mix',
    by: /^mix\.exs$/,
    commands: {
      setup: 'mix deps.get',
      build: 'mix compile',
      format: 'mix format --check-formatted',
      test: 'mix test',
    },
  },
  {
    ecosystem: 'swift',
    manager: 'swiftpm',
    by: /^Package\.swift$/,
    commands: { build: 'swift build', test: 'swift test' },
  },
  { ecosystem: 'scala', manager: 'sbt', by: /^build\.sbt$/, commands: { build: 'sbt compile', test: 'sbt test' } },
  { ecosystem: 'zig', manager: 'zig', by: /^build\.zig$/, commands: { build: 'zig build', test: 'zig build test' } },
  {
    ecosystem: 'haskell',
    manager: 'stack',
    by: /^stack\.yaml$/,
    commands: { build: 'stack build', test: 'stack test' },
  },
  {
    ecosystem: 'haskell',
    manager: 'cabal',
    by: /\.cabal$/,
    commands: { build: 'cabal build all', test: 'cabal test all' },
  },
  { ecosystem: 'ocaml', manager: 'dune', by: /^dune-project$/, commands: { build: 'dune build', test: 'dune test' } },
  {
    ecosystem: 'bazel',
    manager: 'bazel',
    by: /^MODULE\.bazel$/,
    commands: { build: 'bazel build //...', test: 'bazel test //...' },
  },
  {
    ecosystem: 'cmake',
    manager: 'cmake',
    by: /^CMakeLists\.txt$/,
    commands: { setup: 'cmake -B build', build: 'cmake --build build', test: 'ctest --test-dir build' },
  },
]

/** Ecosystems whose commands are always the same. */
export const plainEcosystems: Ecosystem = async folder => {
  for (const { ecosystem, manager, by, commands } of PLAIN) {
    const [from] = folder.matching(by)
    if (from === undefined) continue
    const kinds = Object.entries(commands) as [CommandKind, string][]
    return {
      ecosystem,
      manager,
      manager_from: from,
      commands: kinds.map(([kind, run]) => usualCommand(kind, run, from)),
      members: ['**'],
    }
  }
  return undefined
}

/** Dart, and Flutter where the manifest asks for it. */
export const dart: Ecosystem = async folder => {
  if (!folder.has('pubspec.yaml')) return undefined
  const isFlutter = /^\s+sdk:\s*flutter\b/m.test((await folder.text('pubspec.yaml')) ?? '')
  const tool = isFlutter ? 'flutter' : 'dart'
  const from = 'pubspec.yaml'
  return {
    ecosystem: 'dart',
    manager: tool,
    manager_from: from,
    commands: [
      usualCommand('setup', `${tool} pub get`, from),
      usualCommand('lint', `${tool} analyze`, from),
      usualCommand('format', 'dart format --output=none --set-exit-if-changed .', from),
      usualCommand('test', `${tool} test`, from),
    ],
  }
}
