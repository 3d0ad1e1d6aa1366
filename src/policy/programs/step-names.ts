import type { ProgramCall } from '../classify/call.ts'
import { type Arg, deriveArg, findFlags } from '../shell/args.ts'

/** Verbs that deploy, publish, migrate backwards or destroy, wherever they stand in the name of a step. */
const FAR = new Set(
  `deploy deploys deployment undeploy redeploy publish unpublish upload promote ship push provision deprovision destroy teardown drop wipe
   nuke purge truncate rollback replant migrate-down downgrade shutdown uninstall distclean mrproper flash burn login logout jib sonar sonarqube
   sonatype retire`.split(/\s+/),
)
/** Verbs that mean this only at the beginning of a step. */
const FAR_FIRST = new Set(['release', 'revoke', 'send', 'sync', 'submit'])
/** Verbs after which `release` is what is built: `assembleRelease` builds, `ci:release` releases. */
const BUILD_VERB =
  /^(assemble|build|bundle|compile|test|lint|package|check|generate|process|merge|install|minify|dex|connected|kapt|ksp|strip|extract|desugar|optimize|zip|make|run|verify|debug|pre)$/
/** Steps that are far only together: `terraform-apply`, `flyway:clean`, `db:reset`, `migrate:down`, `jib:build`. */
const PAIRS: [RegExp, RegExp][] = [
  [
    /^(terraform|tofu|tf|pulumi|kubectl|k8s|helm|infra|cdk|sam|sls|serverless|ansible|cloud|stack|prod)$/,
    /^(apply|up|sync|run|create|delete|remove)$/,
  ],
  [
    /^(db|database|flyway|liquibase|ecto|prisma|schema|migrate|migration|migrations|sequelize|knex)$/,
    /^(clean|reset|down|undo|fresh|refresh|redo|revert|delete|remove|force)$/,
  ],
  [/^verify$/, /^contract$/],
  [/^(jib|docker|image|spring-boot|bootbuildimage)$/, /^(build|push)$/],
  [/^(prod|production|prd|staging|live)$/, /^(migrate|migration|migrations|seed|db|database|mail)$/],
  [/^(migrate|migration|migrations|seed|db|database|mail)$/, /^(prod|production|prd|staging|live)$/],
]
/** `jib:dockerBuild` and `docker:build` stay on this machine. */
const LOCAL = /^(docker|image)[:_-]?build$|[dD]ockerBuild$|buildTar$/

/**
 * Whether the name of a step of a build tool (a target, a task, a script, a goal) says that it reaches beyond the project, by its
 * parts: `lib:publish`, `:lib:publish`, `core/publish`, `publishToMavenLocal`, `terraform-apply`, `db:seed:replant`.
 */
export function reachesBeyond(step: string): boolean {
  if (LOCAL.test(step)) return false
  const segments = step
    .replace(/^[^\w@:]+/, '')
    // An "and" joins two steps, and a comma a list of them.
    .replace(/And(?=[A-Z])/g, ':')
    .split(/[:/.,\s]+/)
    .filter(Boolean)
    .map(splitWords)
  const words = segments.flat()
  if (words.some(word => FAR.has(word))) return true
  if (segments.some(([first = '']) => FAR_FIRST.has(first))) return true
  if (segments.some(([first = '', ...rest]) => !BUILD_VERB.test(first) && rest.includes('release'))) return true
  return PAIRS.some(([what, how]) =>
    words.some((word, at) => what.test(word) && words.slice(at + 1).some(next => how.test(next))),
  )
}

/**
 * Whether the name of a step may be the short form of one that reaches beyond the project, for tools that complete names: `pTML` is `publishToMavenLocal`,
 * `d:s:d` is `doctrine:schema:drop`.
 */
export function mayStandForFar(step: string): boolean {
  const segments = step.split(/[:/]/).filter(Boolean).map(splitHumps)
  const last = segments.at(-1) ?? []
  const [first = ''] = last
  if (DEEDS.some(deed => isShortFor(first, deed))) return true
  const words = segments.flat()
  return words.some((word, at) => mayBe(word, OF_DATA) && words.slice(at + 1).some(next => mayBe(next, UNDOES)))
}

/** All of those verbs but the steps of make, which completes nothing. */
const DEEDS = [...FAR, ...FAR_FIRST].filter(deed => !/^(migrate-down|mrproper|distclean)$/.test(deed))
/** Tools for databases, and what undoes their work, of which the beginnings are enough. */
const OF_DATA = ['flyway', 'liquibase', 'database', 'schema', 'migrations']
const UNDOES = ['clean', 'reset', 'down', 'undo', 'revert', 'drop', 'delete']

/** Each capital begins a word, also where several stand together. */
function splitHumps(segment: string): string[] {
  return segment
    .replace(/(?<=[A-Za-z0-9])(?=[A-Z])/g, '-')
    .toLowerCase()
    .split(/[-_\s]+/)
    .filter(Boolean)
}

function isShortFor(word: string, full: string): boolean {
  return word.length < full.length && word.length < MOST_SHORT && full.startsWith(word)
}

/** A longer word is spelled out. */
const MOST_SHORT = 7
function mayBe(word: string, names: readonly string[]): boolean {
  return names.some(full => full === word || isShortFor(word, full))
}

function splitWords(segment: string): string[] {
  return segment
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[-_\s]+/)
    .filter(Boolean)
}

/** Adds the reason that a step reaches beyond the project, if its name says so. */
export function judgeStep(call: ProgramCall, step: Arg): undefined {
  if (reachesBeyond(step.value) || isForOthers(call, step))
    call.say('script.far', 'MEDIUM', `${step.text} sounds as if it reached beyond the project`, step)
}

/** The same for a tool that completes the beginnings of names. */
export function judgeShortStep(call: ProgramCall, step: Arg): undefined {
  if (/^[\w:./-]+$/.test(step.value) && mayStandForFar(step.value))
    call.say('script.far', 'MEDIUM', `${step.text} may be short for a step that reaches beyond the project`, step)
}

/** The same for the words that a step of the project gets, one by one and together: `migrate -- down`. */
export function judgeStepWords(call: ProgramCall, words: readonly Arg[]): undefined {
  for (const word of words) judgeStep(call, word)
  const [first, ...rest] = words
  if (first === undefined || rest.length === 0 || words.some(({ value }) => reachesBeyond(value))) return
  const line = words.map(({ value }) => value).join(' ')
  if (reachesBeyond(line))
    call.say('script.far', 'MEDIUM', `${line} sounds as if it reached beyond the project`, rest.at(-1))
}

/** Whether a step is the name of an environment that others use, and no build for it. */
function isForOthers({ args, head }: ProgramCall, { value, at }: Arg): boolean {
  if (!/^(prod|production|prd|live|staging|mainnet)$/i.test(value)) return false
  const before = (args[args.findIndex(arg => arg.at === at) - 1] ?? head).value
  return !/^(--(mode|configuration|config)|-c)$|(^|\/)build(\.\w+)?$/.test(before)
}

/**
 * Adds a reason if a flag gives a program the environment that others use: `--env-file=.env.production`, `--stage prod`. What builds, tests or checks
 * may be told so.
 */
export function judgeEnvironmentFlags(call: ProgramCall): undefined {
  const { name, args } = call
  if (!args.some(({ value }) => FAR_ENVIRONMENT.test(value))) return
  const builds = BUILDS.test(name) || args.some(({ value }) => BUILD_STEP.test(value) || BUILDS.test(value))
  for (const [at, arg] of args.entries()) {
    const [, flag = args[at - 1]?.value ?? '', value = arg.value] = /^(--?[\w-]+)=(.*)$/s.exec(arg.value) ?? []
    const isFile =
      FAR_FILE.test(value) && /^--?(e|f|env|envs|env-?file(-if-exists)?|env-?path|dotenv|path|file)$/i.test(flag)
    const isNamed = !builds && /^--?([a-z]+-)?(env|environment|stage)$/i.test(flag) && FAR_NAME.test(value)
    if (isFile || isNamed) call.say('env.elsewhere', 'MEDIUM', `${arg.text} is an environment that others use`, arg)
  }
}

const FAR_ENVIRONMENT = /prod|prd|live|stag|mainnet/i
const FAR_NAME = /^(prod|production|prd|live|staging|stage|mainnet)$/i
const FAR_FILE =
  /(^|\/)(\.env[\w.-]*[._-](prod(uction)?|prd|live|staging)([._-]\w+)*|\.?(prod(uction)?|prd|live|staging)\.env)$/i
const BUILDS =
  /^(webpack|rollup|vite|next|nuxt|ng|ember|expo|babel|eslint|jest|vitest|hugo|jekyll|gatsby|astro|esbuild|parcel|encore|mix|grunt|gulp)$/
const BUILD_STEP = /^(build|lint|test|check|typecheck|bundle|compile|validate|synth|plan|diff|config|print)([:.-]\w+)*$/

/** Adds a reason for a word with which a program of the project throws something away: `--purge`, `--wipe-all`, `reset`. */
export function judgeDestructiveWords(call: ProgramCall, words: readonly Arg[]): undefined {
  if (words.some(({ value }) => /^(--dry-?run(=true)?|--what-?if|--help|-h)$/i.test(value))) return
  const lost = words.find(({ value }) => (DESTRUCTIVE.test(value) && !KEEPS.test(value)) || LOSES.test(value))
  if (lost) call.say('script.far', 'MEDIUM', `${lost.text} sounds as if it threw something away`, lost)
}

const DESTRUCTIVE =
  /^--?([a-z]+-)*(delete|destroy|drop|wipe|purge|prune|reset|erase|nuke|truncate|remove|obliterate|clean-?all|force-clean|hard-clean|clean-up-all|overwrite|flush|rollback|teardown|uninstall|unlink)(-[a-z]+)*(=.*)?$/i
/** Switched off, or about what is made again. */
const KEEPS =
  /^--?(no|skip|without|keep|never|disable|dont)-|-(cache|caches|logs?|output|coverage|snapshots?|unused|color|console|debugger|duplicates|whitespace|comments)(=|$)|=(false|0|no|off)$/i
const LOSES =
  /^(delete|delete-all|remove-all|reset|prune|erase|obliterate|flush|flushall|flushdb|clean-all|rm|unlink)$/i

/** The same for a script of the project, by its own name and by the words that it gets: `./deploy.sh`, `node tools/cli.js publish`. */
export function judgeScriptSteps(call: ProgramCall, file: Arg): undefined {
  const name = file.value.slice(file.value.lastIndexOf('/') + 1)
  if (!/(^test_|[._-](test|spec)\b)/.test(name)) judgeStep(call, deriveArg(name.replace(/\.\w+$/, ''), file))
  const place = call.args.findIndex(arg => arg.at === file.at)
  const words = call.args.slice(place + 1)
  // The console of Symfony, which other programs in PHP use too.
  const [command] = name === 'console' ? words.filter(arg => /:/.test(arg.value)) : []
  if (command) judgeShortStep(call, command)
  judgeDestructiveWords(call, words)
  judgeStepWords(
    call,
    words.filter(arg => /^[A-Za-z][\w:-]*$/.test(arg.value)),
  )
  for (const arg of words) {
    if (/^[\w:-]+$/.test(arg.value) && SHOWS_SECRETS.test(arg.value))
      call.say('secret.maybe', 'MEDIUM', `${arg.text} sounds as if it showed secrets`, arg)
    if (STATEMENT.test(arg.value))
      call.say('db.destroy', 'HIGH', `${arg.text} changes or loses data of a database`, arg)
  }
}

/** Words for a program of the project with which it prints secrets: `bin/console debug:dotenv`, `secrets:list --reveal`. */
const SHOWS_SECRETS = /(^|[:_-])(secrets?|dotenv|credentials?|tokens?|passwords?|reveal|env-vars?)([:_-]|$)/i

/** A statement that loses data, for a program of the project that hands it to a database. */
const STATEMENT = /^\s*(drop\s+(table|database|schema)|truncate|delete\s+from|update\s+\S+\s+set|alter\s+table)\b/i

/** Programs whose words, after one of these verbs, name steps of the project or go to a program of it. */
const STEPS_AFTER: Record<string, RegExp> = {
  cargo: /^(run|r|xtask|make)$/,
  deno: /^task$/,
  dotnet: /^run$/,
  go: /^run$/,
  nox: /^/,
  swift: /^run$/,
  tox: /^/,
  zig: /^build$/,
}

/** Words with which a tool that works on the project sends, fetches or publishes, by program. */
const FAR_WORDS: Record<string, RegExp> = {
  conftest: /^(pull|push|plugin|--update|-u)(=|$)/,
  forge: /^verify-/,
  go: /^telemetry$/,
  hardhat: /^(verify|ignition)$/,
  semgrep: /^(ci|publish|login)$/,
}

/** Judges the steps that such a program is told to run, and words with which a tool reaches beyond the project. */
export function judgeSteps(call: ProgramCall): undefined {
  const words = Object.hasOwn(FAR_WORDS, call.name) ? FAR_WORDS[call.name] : undefined
  const far = words && call.args.find(arg => words.test(arg.value))
  if (far) call.say('script.far', 'MEDIUM', `${far.text} makes ${call.name} reach beyond the project`, far)
  const verb = Object.hasOwn(STEPS_AFTER, call.name) ? STEPS_AFTER[call.name] : undefined
  const start = verb === undefined ? -1 : call.args.findIndex(arg => verb.test(arg.value))
  if (start < 0) return
  if (verb?.source !== '^') judgeDestructiveWords(call, call.args.slice(start + 1))
  judgeStepWords(
    call,
    call.args.slice(start).filter(arg => /^[A-Za-z][\w:,-]*$/.test(arg.value)),
  )
}

/** Words of programs that build or test after which they read commands of their own language from their input. */
const CONSOLES: Record<string, RegExp> = {
  bundle: /^console$/,
  cabal: /^(repl|exec)$/,
  crystal: /^(eval|i|play)$/,
  dlv: /^(debug|test|exec|attach|core)$/,
  dotnet: /^(fsi|script|repl)$/,
  gleam: /^shell$/,
  lein: /^(repl|run)$/,
  mill: /^(-i|--interactive|.*\b(console|repl))$/,
  mix: /^-$/,
  node: /^inspect$/,
  rebar3: /^shell$/,
  sbt: /^(.*\/)?console(Quick|Project)?$/,
  stack: /^(ghci|repl|runghc|runhaskell|exec)$/,
  swift: /^repl$/,
  zig: /^-$/,
}
/** Modules of Python that do. */
const CONSOLE_MODULES = /^(pdb|code|asyncio|IPython|ptpython|bpython|ipdb|pudb)$/

/** What a program writes or spells out becomes commands, if it goes into a console. */
export function judgeConsole(call: ProgramCall): undefined {
  const { name, args, feed } = call
  if (!feed.piped && !feed.text && !feed.file) return
  const words = Object.hasOwn(CONSOLES, name) ? CONSOLES[name] : undefined
  const verb =
    words &&
    args.find(
      ({ value }) => !value.startsWith('-') || value === '-' || value.startsWith('-i') || value === '--interactive',
    )
  const module =
    /^python/.test(name) && args.find((arg, at) => args[at - 1]?.value === '-m' && CONSOLE_MODULES.test(arg.value))
  const console = verb && words.test(verb.value) && !isScriptOf(args, verb) ? verb : module
  if (console) call.say('pipe.interpreter', 'HIGH', `${name} ${console.text} runs what it is fed`, console)
}

/** `dotnet fsi build.fsx` runs a file instead. */
function isScriptOf(args: readonly Arg[], verb: Arg): boolean {
  return args.slice(args.indexOf(verb) + 1).some(({ value }) => /\.(fsx|csx|hs)$/.test(value))
}

/** Flags whose value is a command, by program. The value is judged like any command. */
const COMMAND_FLAGS: Record<string, string[]> = {
  air: ['--build.cmd', '--build.bin', '--build.full_bin', '--build.pre_cmd', '--build.post_cmd'],
  ava: ['--node-arguments'],
  cdk: ['--app', '-a'],
  deno: ['--eval'],
  chokidar: ['-c', '--command'],
  'chokidar-cli': ['-c', '--command'],
  ginkgo: ['--after-run-hook', '-after-run-hook', '--afterSuiteHook', '-afterSuiteHook'],
  gotestsum: ['--raw-command', '--post-run-command'],
  'release-it': ['--hooks.before:init', '--hooks.after:release'],
  tox: ['-x', '--override'],
  'tsc-watch': ['--onSuccess', '--onFailure', '--onFirstSuccess', '--onCompilationStarted', '--onCompilationComplete'],
  tsup: ['--onSuccess', '--on-success'],
  unbuild: ['--onSuccess'],
}

/** Judges the commands in the values of flags. */
export function judgeCommandFlags(call: ProgramCall): undefined {
  const flags = Object.hasOwn(COMMAND_FLAGS, call.name) ? COMMAND_FLAGS[call.name] : undefined
  if (flags === undefined) return
  for (const { arg, value } of findFlags(call.args, flags)) {
    if (value === undefined) continue
    call.say('flag.runs', 'MEDIUM', `${arg.text} holds a command`, arg)
    // `tox -x testenv.commands=rm` names the setting first.
    const setting = /^[\w.:]+=(.*)$/s.exec(value.value)?.[1]
    call.shell(setting === undefined ? value : deriveArg(setting, value))
  }
}

/** Words of a flag or a variable that may run or send something, choose another machine, or choose a folder that is emptied. */
export const FAR_REACHING =
  /cache|clean|clear|delete|erase|remove|purge|reset|force|(?<!std)out|dir|dest|(?<!pro)file|path|env|prod|stag|live|host|url|addr|regist|remote|token|key|deploy|publish|release|upload|push|exec|cmd|command|script|hook|pager|plugin|(?<!re)load|require|import|eval|shell|wrapper|interpreter|compiler|linker|editor|browser|engine|proxy|socket|listen|bind|share|public|tunnel|expose|server|backend|endpoint|upstream|bucket|mirror|cloud|cluster|mainnet|submit|send|sync|notify|auth|appl[yi]|approve|merge|rollback|downgrade|scan|dashboard|portal|metrics|email|[;|&`$<>(]|\s|:\/\/|=\.?\/?$/i

/** Names of functions that do more than compute. */
export function isDeed(name: string): boolean {
  return (
    DEED.test(name) ||
    /^(main|app|db|client|session|settings|config|env|engine|conn\w*|redis|prisma|logger|stripe)$/i.test(name)
  )
}

const DEED =
  /drop|delete|remove|destroy|purge|reset|truncate|deploy|publish|send|migrat|seed|flush|wipe|clear|kill|charge|refund|pay|mail|notif|sync|upload|push|save|create|update|insert|write|exec|run|shell|eval|secret|token|passw|credential|cancel|revoke|import|export|fetch|post|connect|start|stop/i
