import type { Call } from '../../call.ts'

const HELP = new Set(['--help', '--version', '-help', '-version', '--usage'])

/** Programs that take a verb and then `--help`, or `help verb`. */
const WITH_VERBS = new Set(
  'git npm pnpm yarn bun deno cargo rustup go docker podman kubectl helm terraform tofu pulumi aws gcloud az gh glab pip pip3 uv poetry pipenv brew apt apt-get systemctl vercel netlify heroku fly flyctl firebase make nx turbo prisma rails bundle gem composer dotnet mvn gradle ng vite next pytest supabase wrangler'.split(
    ' ',
  ),
)

/** Programs for which one of these letters alone prints the version. */
const SHORT = /^(-v|-V)$/

const SHORT_VERSION = new Set(
  'node npm npx pnpm yarn bun deno python python3 python2 ruby perl php java javac go rustc cargo gcc g++ clang tsc git make cmake docker pip pip3 ssh psql eslint prettier jest mocha vitest lua R ghc dotnet swift kotlinc scala bash zsh'.split(
    ' ',
  ),
)

/** Whether a call only prints what the program is or how to use it. The name must be that of a program with a rule. */
export function onlyAsksForHelp({ name, args }: Call): boolean {
  const [first, second] = args
  if (first === undefined || !args.every(arg => arg.known && !arg.glob) || args.length > 3) return false
  if (args.length === 1) {
    if (HELP.has(first.value)) return !NEVER.has(name)
    return SHORT.test(first.value)
      ? SHORT_VERSION.has(name)
      : WITH_VERBS.has(name) && /^(help|version)$/.test(first.value)
  }
  if (!WITH_VERBS.has(name)) return false
  if (first.value === 'help') return args.every(arg => /^[a-z][a-z-]*$/.test(arg.value))
  const last = args.at(-1)?.value
  const words = args.slice(0, -1).every(arg => /^[a-z][a-z-]*$/.test(arg.value))
  return (
    words && (last === '--help' || (last === '-h' && second !== undefined && name !== 'git')) && !RUNS.test(first.value)
  )
}

/** Programs that would take `--help` for something else: a host, a file, a command. */
const NEVER = new Set(['echo', 'eval', 'source', '.', 'busybox', 'toybox', 'exec', 'builtin'])

/** Verbs that hand the flag on to what they run. */
const RUNS = /^(run|run-script|exec|dlx|x|test|start|t|explore|create|init|foreach)$/
