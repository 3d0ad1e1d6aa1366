import type { ProgramCall } from '../classify/call.ts'
import { type Arg, deriveArg, findFlags } from '../shell/args.ts'

/** Verbs that deploy, publish, migrate backwards or destroy, wherever they stand in the name of a step. */
const FAR = new Set(
  `deploy deploys deployment undeploy redeploy publish unpublish upload promote ship push provision deprovision destroy teardown drop wipe
   nuke purge truncate rollback replant migrate-down downgrade shutdown uninstall distclean mrproper flash burn login logout jib sonar sonarqube
   sonatype retire`.split(/\s+/),
)
/** Verbs that mean this only at the beginning of a step: `assembleRelease` builds, `releaseAll` releases. */
const FAR_FIRST = new Set(['release', 'revoke'])
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
  return PAIRS.some(([what, how]) =>
    words.some((word, at) => what.test(word) && words.slice(at + 1).some(next => how.test(next))),
  )
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
  if (reachesBeyond(step.value))
    call.say('script.far', 'MEDIUM', `${step.text} sounds as if it reached beyond the project`, step)
}

/** The same for a script of the project, by its own name and by the words that it gets: `./deploy.sh`, `node tools/cli.js publish`. */
export function judgeScriptSteps(call: ProgramCall, file: Arg): undefined {
  const name = file.value.slice(file.value.lastIndexOf('/') + 1)
  if (!/(^test_|[._-](test|spec)\b)/.test(name)) judgeStep(call, deriveArg(name.replace(/\.\w+$/, ''), file))
  const place = call.args.findIndex(arg => arg.at === file.at)
  for (const arg of call.args.slice(place + 1)) {
    if (/^[A-Za-z][\w:-]*$/.test(arg.value)) judgeStep(call, arg)
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
  go: /^run$/,
  nox: /^/,
  swift: /^run$/,
  tox: /^/,
  zig: /^build$/,
}

/** Judges the steps that such a program is told to run. */
export function judgeSteps(call: ProgramCall): undefined {
  const verb = Object.hasOwn(STEPS_AFTER, call.name) ? STEPS_AFTER[call.name] : undefined
  const start = verb === undefined ? -1 : call.args.findIndex(arg => verb.test(arg.value))
  if (start < 0) return
  for (const arg of call.args.slice(start)) if (/^[A-Za-z][\w:,-]*$/.test(arg.value)) judgeStep(call, arg)
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

/** Whether a word may be the name of a machine: it has a dot, and it does not end like a file. */
export function isHost(word: string): boolean {
  const [first = ''] = word.replace(/^\.\//, '').split('/')
  return word.includes('@') || (/\.\w+$/.test(first) && !FILE.test(first))
}

const FILE =
  /\.(c|m)?[jt]sx?$|\.(json[c5]?|ya?ml|toml|ini|cfg|conf|lock|txt|mdx?|rst|pyi?|go|mod|sum|rs|java|kts?|scala|sbt|clj|edn|rb|erb|php|c|h|cc|cpp|hpp|cs|fs|csproj|sln|swift|dart|lua|sh|sql|csv|tsv|parquet|xml|html?|s?css|svg|png|jpe?g|gif|pdf|proto|gra?ph?ql|gql|tf|tfvars|hcl|in|log|ipynb|vue|svelte|astro|exs?|erl|hs|ml|nix|zig|r|jl|dot|wasm|jar|class|o|db|sqlite|duckdb)$/i
