import { isHost } from '../classify/address.ts'
import type { ProgramCall } from '../classify/call.ts'
import { type Arg, findFlags } from '../shell/args.ts'
import { type FlagTable, flagTable, scanFlags } from '../shell/flag-table.ts'
import { judgeToolWords } from './run-code.ts'
import { judgeStep, judgeStepWords } from './step-names.ts'

// Programs of which only some verbs are everyday. A call is known by its program, its verb, its flags and its words, all of them; any other
// call of the same program is judged like one of a program that nobody knows.

interface KnownTool {
  /** The words that are no flags, joined by blanks, as a whole. */
  words: RegExp
  /** Flags beside those that every tool has, in the notation of `FlagSpec`. */
  flags?: string
  /** Flags of these whose value is a file that is written. */
  writes?: string[]
  /** Set if it asks a server what is there. */
  reads?: true
}

const PATH = '[\\w@-][\\w@./-]*'

const KNOWN: Record<string, KnownTool> = {
  airflow: {
    words: /^(version|providers list|dags (list|list-import-errors|report|show [\w-]+)|tasks list [\w-]+)$/,
    flags: '-o: --output: --tree',
  },
  'arduino-cli': {
    words: new RegExp(`^(version|(board|core|lib) list|compile( ${PATH})?)$`),
    flags: '--fqbn: -b: --warnings: --build-path:',
  },
  auditwheel: { words: new RegExp(`^show ${PATH}$`) },
  'check-wheel-contents': { words: new RegExp(`^${PATH}$`) },
  cog: { words: /^(check|log)$/ },
  conan: {
    words: /^(version|profile (list|show)|(install|build|graph info) \.)$/,
    flags: '--build: -b: -s: --output-folder: --profile:',
  },
  convco: { words: /^(check|version)$/ },
  cz: { words: /^(check|version|info|schema|example)$/, flags: '--rev-range:' },
  dagster: { words: /^(definitions validate|asset list|job list)$/, flags: '-m: -f: --select:' },
  datamash: { words: /^[\w ,.%:-]+$/, flags: '-t: -s -g: -H -W --header-in --sort --group:' },
  dbt: {
    words: /^(ls|list|parse|compile|test|docs generate)$/,
    flags: '--select: -s: --exclude: --models: -m: --resource-type: --output: --target: -t: --threads: --fail-fast -x',
  },
  doxygen: { words: /^([\w./-]*Doxyfile[\w.]*)?$/ },
  dvc: {
    words:
      /^(status|dag|root|version|metrics (show|diff)|params diff|data status|stage list|diff( [\w.~^-]+){0,2}|repro( [\w.@-]+)*)$/,
    flags: '--md --show-md --all --mermaid --dot',
  },
  great_expectations: { words: /^(checkpoint|suite) list$/ },
  'kafka-consumer-groups.sh': { words: /^$/, flags: '--bootstrap-server: --list --describe --group:', reads: true },
  'kafka-topics.sh': { words: /^$/, flags: '--bootstrap-server: --list --describe --topic:', reads: true },
  kedro: {
    words: /^(run|test|lint|info|registry list|catalog list)$/,
    flags: '--pipeline: -p: --nodes: -n: --tags: -t: --from-nodes: --to-nodes:',
  },
  'kube-score': { words: new RegExp(`^score( ${PATH})+$`), flags: '-o: --output-format:' },
  melos: { words: /^(bootstrap|bs|list|analyze|test|format|run [\w:-]+)$/, flags: '--no-select --scope:' },
  mlflow: { words: /^(runs list|experiments (list|search))$/, flags: '--experiment-id: --view:', reads: true },
  msgfmt: { words: new RegExp(`^${PATH}\\.po$`), flags: '-o: --output-file: -c --check --statistics', writes: ['-o'] },
  msw: { words: new RegExp(`^init ${PATH}$`), flags: '--save --no-save' },
  nargo: { words: /^(check|test|compile|fmt|info)$/ },
  papermill: { words: new RegExp(`^${PATH}\\.ipynb ${PATH}\\.ipynb$`), flags: '-k: --kernel: --log-output' },
  'parquet-tools': {
    words: new RegExp(`^(schema|inspect|show|head|cat|meta|rowcount|size) ${PATH}\\.parquet$`),
    flags: '-n: --head: --columns:',
  },
  'pip-compile': {
    words: new RegExp(`^(${PATH}\\.(in|toml))?( ${PATH}\\.in)*$`),
    flags:
      '-o: --output-file: -U --upgrade --generate-hashes --strip-extras --no-header --extra: --all-extras --no-annotate',
    writes: ['-o', '--output-file'],
  },
  prefect: { words: /^version$/ },
  prove: { words: new RegExp(`^(${PATH})?( ${PATH})*$`), flags: '-l -r -b -j: --timer' },
  quarto: { words: new RegExp(`^(check|render( ${PATH})?)$`), flags: '--to:' },
  scrapy: { words: /^(list|version)$/ },
  'sphinx-apidoc': { words: new RegExp(`^${PATH}( ${PATH})*$`), flags: '-o: -f -e -M', writes: ['-o'] },
  sqlfmt: { words: new RegExp(`^(\\.|${PATH})$`), flags: '--check --diff' },
  sqlmesh: { words: /^(lint|format|test|render [\w.]+)$/ },
  squawk: { words: new RegExp(`^${PATH}\\.sql( ${PATH}\\.sql)*$`) },
  stern: { words: /^[\w.*-]+$/, flags: '-n: --namespace: --tail: --since: -l: -c: --container:', reads: true },
  tauri: { words: /^(dev|build|info)$/, flags: '--no-bundle --debug' },
  vcpkg: { words: /^(install|list|version|format-manifest|search( [\w-]+)?)$/, flags: '--triplet:' },
  watchexec: { words: /^version$/ },
  west: { words: new RegExp(`^(boards|list|status|topdir|build( ${PATH})?)$`), flags: '-b: -d: -p: --pristine:' },
  xgettext: { words: new RegExp(`^${PATH}( ${PATH})*$`), flags: '-o: -L: -k: --from-code:', writes: ['-o'] },
  jupyter: {
    words: new RegExp(`^(kernelspec list|notebook|lab|(notebook|lab|server) list|nbconvert( ${PATH}\\.ipynb)+)$`),
    flags: '--to: --execute --inplace --stdout --no-input --no-prompt --clear-output --no-browser --port:',
  },
  jupytext: {
    words: new RegExp(`^${PATH}\\.(py|ipynb|md|Rmd|qmd|R|jl)( ${PATH}\\.(py|ipynb|md|Rmd|qmd|R|jl))*$`),
    flags: '--sync --to: --from: --test --update --diff',
  },
}

const COMMON = '-v -q --verbose --quiet --json --no-color'

/** The same rows with their flags read, each when it is first needed. */
const TABLES: Record<string, FlagTable> = Object.fromEntries(
  Object.entries(KNOWN).map(([name, { flags = '' }]) => [
    name,
    flagTable({ harmless: `${COMMON} ${flags}`, loose: true }),
  ]),
)

/** Whether a program is one of these. All of them print their version and their help. */
export function isKnownTool(name: string): boolean {
  return Object.hasOwn(KNOWN, name)
}

/** Judges a call of one of these programs, and returns whether it is known as a whole. */
export function judgeKnownTool(call: ProgramCall): boolean {
  const [tool, table] = isKnownTool(call.name) ? [KNOWN[call.name], TABLES[call.name]] : []
  if (tool === undefined || table === undefined || call.feed.text || call.feed.file) return false
  const { flags, operands, unknown } = scanFlags(call.args, table)
  const values = flags.flatMap(({ value }) => value ?? [])
  const line = operands.map(({ value }) => value).join(' ')
  if (unknown.length > 0 || !tool.words.test(line) || ![...values, ...operands].every(isPlain)) return false
  judgeToolWords(call, call.args)
  judgeStepWords(call, operands)
  for (const value of values) judgeStep(call, value)
  for (const { value } of findFlags(call.args, tool.writes ?? [])) if (value) call.path(value, 'write')
  call.say(
    tool.reads ? 'infra.read' : 'tool.other',
    'MEDIUM',
    tool.reads ? `${call.name} asks a server what is there` : `${call.name} works on the project`,
  )
  return true
}

/** Whether a word names nothing but a thing of the project or of this machine. */
function isPlain({ value, known, glob }: Arg): boolean {
  if (!known || glob || !/^[\w@.,:+*/=~^%-]+$/.test(value) || OTHERS.test(value)) return false
  if (/^(localhost|127\.0\.0\.1):\d+$/.test(value)) return true
  return !/:\d|:\/\/|@/.test(value) && !(isHost(value) && !/^[\d.]+$/.test(value) && !value.includes('/'))
}

const OTHERS = /(^|[-_./@:=])(prod|production|prd|live|staging)([-_./@:]|$)/i
