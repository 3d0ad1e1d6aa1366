import { isInside } from '../../base/is-inside.ts'
import type { ProgramCall, ProgramRule } from '../classify/call.ts'
import { noteCompiled, wasWritten } from '../classify/judge-file.ts'
import { locatePath } from '../paths/fence.ts'
import { findTarget, holdsKept, isIgnored } from '../paths/judge-path.ts'
import { type Arg, findFlag, findFlags, isFlag } from '../shell/args.ts'
import { flagTable, scanFlags } from '../shell/flag-table.ts'
import { judgeToolWords } from './run-code.ts'
import { judgeShortStep, judgeStep } from './step-names.ts'

export interface ToolRow {
  /** Flags that only control how much is done or how it is shown, in the notation of `FlagSpec`. */
  flags?: string
  /** The first operand must be one of these; without this list, operands are files or tests of the project. */
  verbs?: string
  /** Every operand must match this: they are steps (`mvn clean test`). */
  steps?: RegExp
  /** A step that is none of these and matches this is a plugin that is fetched by its name. */
  fetched?: RegExp
  /** Words that make the tool run or load something else. */
  high?: RegExp
  /** Known flags with which it writes a file of the project. */
  output?: RegExp
  /** The flag that names the program that it makes. */
  makes?: string
  /** Words that make the call MEDIUM, although they look like a file. */
  medium?: RegExp
  /** Letters cannot be combined, and long flags may have one dash. */
  words?: boolean
}

/** Flags that mean the same nearly everywhere. */
const COMMON = `--port: --offline --summary --dry-run --diff --progress --no-progress --fail-fast --bail --headless --seed: --timeout: --grep: --no-watch
  --strict --stats -v -q -h -V --verbose --quiet --silent --color --colors --no-color --no-colors --debug --watch --ci --cache
  --no-cache --json --help --version --config: --configfile: --config-file: --tsconfig: --project:`

/** Flags of many tools that load a file as code: a file of the project is its own code, any other is foreign. */
const LOADS =
  /^(-c|--config|--configfile|--config-file|--rulesdir|--resolve-plugins-relative-to|--plugin|--parser|--require|-r|--import|--loader|--setup-?files.*|--reporter|--reporters|--formatter|-f|--format|--preset|--env|--environment|--testRunner|--runner|--resolver|--transform|--global-?setup|--project|-p|--tsconfig|--ignore-path)(=|$)/

/**
 * A tool that builds, tests or checks the project, as `npm test` would: LOW inside of the project, with known verbs and flags.
 * Unknown ones make it MEDIUM.
 */
export function tool(row: ToolRow = {}): ProgramRule {
  const table = flagTable({ harmless: `${COMMON} ${row.flags ?? ''}`, loose: true, words: row.words === true })
  const verbs = row.verbs === undefined ? undefined : new Set(row.verbs.split(/\s+/))
  return given => {
    const call = dropOwnFolders(given)
    judgeToolWords(call, call.args)
    const made = row.makes === undefined ? undefined : findFlag(call.args, [row.makes])?.value
    if (made?.known) noteCompiled(made, call)
    for (const arg of call.args) judgeWord(call, arg, row)
    const { flags, operands, unknown } = scanFlags(call.args, table)
    for (const arg of unknown) {
      if (row.high?.test(arg.value) || isThisMachine(call, arg)) continue
      call[OWN_REPORT.test(arg.value) || namesNewReport(call, arg) ? 'settle' : 'hold'](
        'tool.flag',
        'MEDIUM',
        `${arg.known ? arg.value : arg.text} is not a flag of ${call.name} that the policy knows`,
        arg,
      )
    }
    // Operands are steps, or a verb and then files. A file may be called like a step.
    const steps = row.steps ? operands : operands.slice(0, 1).filter(arg => verbs || /^[\w:-]+$/.test(arg.value))
    for (const arg of steps) judgeStep(call, arg)
    // `turbo run deploy`, `nx run web:deploy:production`: the step comes after the verb.
    if (MONOREPO.test(call.name) && /^(run|run-many|affected)$/.test(operands[0]?.value ?? ''))
      for (const arg of operands.slice(1)) judgeStep(call, arg)
    for (const { name, value } of flags) if (verbs && value && /^(t|targets?)$/.test(name)) judgeStep(call, value)
    judgeExec(call)
    const [verb] = operands
    if (verbs && verb && !verbs.has(verb.value))
      call.say('tool.other', 'MEDIUM', `${call.name} ${verb.text} is not an everyday command`, verb)
    if (row.steps)
      for (const arg of operands)
        if (row.fetched?.test(arg.value) && !row.steps.test(arg.value))
          call.say('pkg.exec', 'MEDIUM', `${arg.text} is a plugin that ${call.name} fetches and runs`, arg)
        else if (!row.steps.test(arg.value)) {
          if (/^gradlew?$/.test(call.name)) judgeShortStep(call, arg)
          call.say('tool.other', 'MEDIUM', `${arg.text} is not an everyday step of ${call.name}`, arg)
        }
  }
}

/** Flags with which a tool works in another folder of the project, or by a file of its own there. */
const ELSEWHERE: Record<string, string[] | undefined> = {
  ...Object.fromEntries(['mvn', 'mvnw', 'mvnd'].map(name => [name, ['-f', '--file']])),
  ...Object.fromEntries(['gradle', 'gradlew'].map(name => [name, ['-p', '--project-dir', '-b', '--build-file']])),
  ...{
    tflint: ['--chdir'],
    tox: ['-c', '--conf'],
    nox: ['-f', '--noxfile'],
    ctest: ['--test-dir'],
    swiftlint: ['--config'],
  },
  ...{ phpunit: ['-c', '--configuration'], 'golangci-lint': ['-c', '--config'], ant: ['-f', '-buildfile'] },
}

/** The call without such flags, if each names what the project keeps: then it works as if it were typed there. */
function dropOwnFolders(call: ProgramCall): ProgramCall {
  const flags = Object.hasOwn(ELSEWHERE, call.name) ? ELSEWHERE[call.name] : undefined
  const { scope, fence } = call
  if (flags === undefined || scope.cwd === undefined || fence.look === undefined) return call
  const dropped = new Set<Arg>()
  for (const [at, arg] of call.args.entries()) {
    const [flag, attached] = arg.value.split(/=(.*)/s)
    const value = attached === undefined ? call.args[at + 1] : { ...arg, value: attached }
    if (!flags.includes(flag ?? '') || !value?.known || value.glob || wasWritten(value, call)) continue
    const place = locatePath(value.value, scope.cwd, fence)
    if (place.where !== 'inside' || isIgnored(place.relative, fence) || fence.look(place.path) === undefined) continue
    dropped.add(arg)
    if (attached === undefined) dropped.add(value)
  }
  return dropped.size === 0 ? call : { ...call, args: call.args.filter(arg => !dropped.has(arg)) }
}

/** Whether a flag names a new file of the project for what the tool has to say. One that is there would be lost. */
function namesNewReport(call: ProgramCall, arg: Arg): boolean {
  const { args, scope, fence } = call
  const [flag = '', attached] = arg.value.split(/=(.*)/s)
  const value = attached ?? args[args.indexOf(arg) + 1]?.value ?? ''
  if (!/^(-o|--(out|output|outfile|output-file|report|junit-?xml|outputFile|json|xml|lcov))$/.test(flag)) return false
  const target = scope.cwd === undefined ? undefined : findTarget(value, { cwd: scope.cwd, fence })
  if (target === 'kept' && !flag.startsWith('--json'))
    call.say('file.replace', 'MEDIUM', `what is in ${value} would be lost`, arg)
  return target === 'fresh'
}

/** A checker must not be told to accept all that it finds: by comments everywhere, or by a list of what it leaves out from now on. */
export function judgeSilencing(call: ProgramCall): undefined {
  if (NO_CHECKER.test(call.name)) return
  const flag =
    call.args.find(({ value }) => SILENCES.test(value)) ??
    (/^phpstan/.test(call.name) ? call.args.find(({ value }) => /^-b/.test(value)) : undefined)
  const accepts =
    /^(mypy-baseline|baseline)$/.test(call.name) && call.args.some(({ value }) => /^(sync|update)$/.test(value))
  if (flag || accepts)
    call.say('write.steers', 'MEDIUM', `${flag?.text ?? call.name} accepts all that is wrong now`, flag)
}

const SILENCES =
  /^--(add-noqa|add-ignore|suppress(-all|-rule|-errors)?|auto-gen[\w-]*|regenerate-todo|disable-uncorrectable|(gen(erate)?|create|write|set)-?base\w*|writebaseline|generate-ignore|update-todo|generate-todo)(=|$)|^:?([\w:]*:)?(detekt|ktlint\w*|lint|updateLint|generate|create)Baseline\w*$|(^|=)--(add-noqa|suppress-all|auto-gen-config)\b/i
/** Programs whose words are texts. */
const NO_CHECKER = /^(echo|printf|z?[ef]?grep|rg|ag|ack|git|gh|glab|sed|awk|gawk|perl|cat|jq|yq|curl|man|find|fd)$/

/** A tool that empties the folder into which it writes must not be given one that people write. */
export function judgeEmptied(call: ProgramCall): undefined {
  if (call.args.length === 0) return
  const empties = call.args.find(arg => EMPTIES.test(arg.value))
  const row = Object.hasOwn(EMPTIES_ALWAYS, call.name) ? EMPTIES_ALWAYS[call.name] : undefined
  const flags = [...(empties ? FOLDERS : []), ...(row?.split(' ') ?? [])]
  const letters = flags.map(flag => (flag.length === 2 ? flag[1] : '')).join('')
  for (const { value: folder } of flags.length > 0 ? findFlags(call.args, flags, letters) : [])
    if (folder && isOfPeople(call, folder))
      return call.say('file.delete', 'HIGH', `${call.name} empties ${folder.text} first`, empties ?? folder)
}

function isOfPeople({ scope, fence }: ProgramCall, { value, known }: Arg): boolean {
  if (!known || OF_PEOPLE.test(value)) return true
  return [scope.cwd ?? fence.boundary, ...scope.folders].some(cwd => holdsKept(value, { cwd, fence }))
}

/** Flags with which a tool empties its folder first. */
const EMPTIES =
  /^--(emptyOutDir|clean|clear|cleanDestinationDir|cleanOutputDir|delete-output|output-clean|delete-dir-on-start|delete-output-path)(=true)?$/i
/** Flags that name the folder into which a tool writes. */
const FOLDERS = [
  ...['--outDir', '--out-dir', '--outdir', '--dist-dir', '--destination', '-d', '-o', '--site-dir', '--out', '--dest'],
  ...['--output-path', '--output-dir', '--output', '--report-dir'],
]
/** The same flags of tools that empty the folder without being told to. */
const EMPTIES_ALWAYS: Record<string, string | undefined> = {
  ...{ vite: '--outDir', vitepress: '--outDir', astro: '--outDir', rsbuild: '--dist-path', rspack: '--output-path -o' },
  ...{
    gatsby: '--output-dir',
    nuxt: '--output',
    remix: '--outDir',
    storybook: '-o --output-dir',
    mkdocs: '-d --site-dir',
  },
  ...{
    jekyll: '-d --destination',
    mdbook: '-d --dest-dir',
    typedoc: '--out',
    docusaurus: '--out-dir',
    ng: '--output-path',
  },
  ...{
    ember: '--output-path -o',
    'vue-cli-service': '--dest',
    expo: '--output-dir',
    quartz: '-o --output',
    zola: '-o --output-dir',
  },
  ...{
    vitest: '--coverage.reportsDirectory',
    jest: '--coverageDirectory',
    nyc: '--report-dir',
    c8: '--report-dir --reports-dir',
  },
  ...{ pytest: '--basetemp', playwright: '--output', allure: '-o --output', eleventy: '--output', hexo: '-o --output' },
}

/** Folders that people write. */
const OF_PEOPLE = /^(\.{1,2}\/)*(\.{1,2}\/?$|(src|lib|app|apps|packages|tests?|docs|public|scripts|migrations)(\/.*)?$)/

/** `--host 127.0.0.1`: a server for nobody else. */
function isThisMachine({ args }: ProgramCall, arg: Arg): boolean {
  const [, attached] = /^--(?:host|hostname|bind)(?:=(.*))?$/s.exec(arg.value) ?? [undefined, '']
  return /^(localhost|127\.0\.0\.1|::1)$/.test(attached ?? args[args.indexOf(arg) + 1]?.value ?? '')
}

const OWN_REPORT =
  /^--?[\w.-]*(out|output|outputFile|report(?!er)|log)[\w.-]*=(\/tmp\/[\w./-]+|(\.\/)?([A-Za-z][\w-]*\/)*([\w-]*(junit|reports?|results?|coverage|output)[\w-]*|(test-)?(reports?|results?|coverage)\/[\w-]+)\.(json|xml|html|txt))$/i

const MONOREPO = /^(turbo|nx|moon|lage|rush|lerna|bazel|bazelisk)$/

/** `stack exec -- rm x`: the words after the dashes of `exec` are a command. */
function judgeExec(call: ProgramCall): undefined {
  const exec = call.args.findIndex(arg => /^(exec|cmd|run-commands)$/.test(arg.value))
  if (exec < 0) return
  const dashes = call.args.findIndex((arg, place) => place > exec && arg.value === '--')
  call.run(call.args.slice(Math.max(exec, dashes) + 1))
}

function judgeWord(call: ProgramCall, arg: Arg, row: ToolRow): undefined {
  const key = arg.value.split('=')[0] ?? ''
  if (row.high?.test(arg.value) || row.high?.test(key))
    call.say('flag.runs', 'HIGH', `${arg.text} makes ${call.name} run or write something else`, arg)
  else if (row.medium?.test(arg.value) || row.medium?.test(key))
    call[OWN_REPORT.test(arg.value) ? 'settle' : 'say'](
      'tool.flag',
      'MEDIUM',
      `${arg.known ? arg.value : arg.text} is an unusual word`,
      arg,
    )
  else if (row.output?.test(arg.value))
    call.say('tool.other', 'MEDIUM', `${arg.text} makes ${call.name} write a file`, arg)
  if (!isFlag(arg)) return
  const glued = /^-[crfpIC]((?:[/~]|\.\.).*)$/s.exec(arg.value)?.[1]
  if (glued === undefined && !LOADS.test(arg.value)) return
  const attached = glued ?? (arg.value.includes('=') ? arg.value.slice(arg.value.indexOf('=') + 1) : undefined)
  const value = attached === undefined ? call.args[call.args.indexOf(arg) + 1] : { ...arg, value: attached }
  if (value && /^(\/|~)|(^|\/)\.\.(\/|$)|:\/\//.test(value.value) && !isInside(value.value, call.fence.boundary))
    call.say('flag.loads', 'HIGH', `${arg.text} loads ${value.text}, which is outside the project`, arg)
}
