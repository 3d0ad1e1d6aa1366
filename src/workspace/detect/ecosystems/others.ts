import type { CommandKind } from '../../../domain/project/project-facts.ts'
import { type Ecosystem, usual } from '../found.ts'

interface Plain {
  ecosystem: string
  manager: string
  /** The file by which it is known. */
  by: RegExp
  commands: Partial<Record<CommandKind, string>>
}

/** Those of which the manifest's presence says all. The first that fits a folder counts. */
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

/** Ecosystems with no choices to make. */
export const others: Ecosystem = async folder => {
  for (const { ecosystem, manager, by, commands } of PLAIN) {
    const [from] = folder.matching(by)
    if (from === undefined) continue
    const kinds = Object.entries(commands) as [CommandKind, string][]
    return {
      ecosystem,
      manager,
      manager_from: from,
      commands: kinds.map(([kind, run]) => usual(kind, run, from)),
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
      usual('setup', `${tool} pub get`, from),
      usual('lint', `${tool} analyze`, from),
      usual('format', 'dart format --output=none --set-exit-if-changed .', from),
      usual('test', `${tool} test`, from),
    ],
  }
}
