import type { ProgramCall, ProgramRules } from '../classify/call.ts'
import { findSpelled } from '../classify/judge-file.ts'
import { findFlag, findOperands, HOLE } from '../shell/args.ts'
import { changes, DESTROY, GONE, VALUED } from './cloud.ts'
import { named, type VerbRow, verbs } from './rule-builders.ts'

/** Clients of forges. */
export const FORGES: ProgramRules = named('gh glab tea', forge)

/** The number of a run or a request, as gh itself prints it. */
const PRINTS_ID =
  /^"?\$\(gh (run|pr|issue) (list|view|status)( [\w./=:@-]+)* --json (databaseId|number)( [\w./=:@-]+)* (-q|--jq)[ =](\.|'\.|"\.)(\[0\]\.?)?(databaseId|number)['"]?( [\w./=:@-]+)*\)"?$/

/** gh and the like: MEDIUM for reading from a forge, HIGH for publishing, deleting and tokens. */
function forge(call: ProgramCall): undefined {
  const line = findOperands(call.args, VALUED)
    .map(arg => arg.value)
    .join(' ')
  const api = /^api( |$)/.test(line)
  // Names of branches, commits and files are what a forge shows anyway.
  for (const arg of call.args)
    if (PRINTS_ID.test(arg.text)) continue
    else if (arg.substituted && !(arg.listed && arg.value === HOLE))
      call.say('net.send', 'HIGH', `${arg.text} sends what a command prints`, arg)
    else if (!arg.known) call.unknown(arg)
  const shown = call.args.find(arg => /^(--show-token|-t)$/.test(arg.value))
  if (shown && /^auth status/.test(line)) call.say('secret.store', 'HIGH', `${shown.text} shows the token`, shown)
  if (/^config get .*token/.test(line)) call.say('secret.store', 'HIGH', 'it shows the token')
  for (const [at, arg] of call.args.entries())
    if (/^(--jq|-q|--template|-t)$/.test(call.args[at - 1]?.value ?? '') && /\benv\b|\$ENV/.test(arg.value))
      call.say('env.print', 'HIGH', `${arg.text} shows the environment`, arg)
  const method = call.args.find(
    (arg, at) =>
      /^(-X|--method)$/.test(call.args[at - 1]?.value ?? '') ||
      /^(-X|--method=)(POST|PUT|PATCH|DELETE)/i.test(arg.value),
  )
  // Without a method or fields it is a GET.
  const sends = call.args.find(arg =>
    /^(-[fF]|--(raw-)?field|--input|-H|--header|--hostname|--cache)(=|$)/.test(arg.value),
  )
  const isRead =
    api && !method && !sends && call.args.every(arg => arg.known) && !/graphql|secrets|tokens?|keys/.test(line)
  if (isRead) return call.say('infra.read', 'MEDIUM', 'it reads from the API of the forge')
  if (api)
    return call.say(
      'infra.change',
      method && /DELETE/i.test(method.value) ? 'HIGH' : 'MEDIUM',
      'it calls the API of the forge',
      method,
    )
  verbs({
    rows: [
      [
        /^(secret|variable|ssh-key|gpg-key|auth (token|login|refresh|setup-git|logout)|config set|alias set|extension (install|exec|upgrade|create)|codespace (delete|ssh|cp)|attestation|deploy-key|repo (delete|archive|rename|edit|deploy-key)|release (delete|create|upload|edit)|gist create|pr merge|cache delete|run (delete|cancel)|issue (delete|transfer)|label delete|project delete)( |$)/,
        'HIGH',
        'infra.destroy',
        'publishes, deletes, or handles secrets',
      ],
      [
        /^(pr|issue|run|workflow|release|repo|search|gist|cache|label|project|ruleset|org|codespace|milestone|mr|ci|pipeline|snippet) (list|view|status|diff|checks|watch|ls|show|trace|get|lint)( |$)|^(status|browse|auth status|search|pr checks)( |$)/,
        'MEDIUM',
        'infra.read',
        'looks at the forge',
      ],
      [DESTROY, 'HIGH', 'infra.destroy', GONE],
      ...(isOwnProposal(call) ? PROPOSES : []),
    ],
    otherwise: changes,
    paths: value => !isSpelledText(call, value),
    valued: VALUED,
    flags: [
      [
        /^(--admin|--yes|--force|--confirm|--delete-branch|-d)$/,
        'HIGH',
        'infra.force',
        'skips a confirmation or a check',
      ],
    ],
  })(call)
}

const PROPOSES: VerbRow[] = [
  [/^(pr|mr) (create|new|ready|checkout)( |$)/, 'MEDIUM', 'infra.propose', 'proposes the work of this branch'],
]

/** Whether a file in /tmp is a text that the same command spells out. */
function isSpelledText(call: ProgramCall, value: string): boolean {
  return /^\/tmp\/[\w-]+\.(md|txt)$/.test(value) && findSpelled({ ...call.head, value }, call) !== undefined
}

/** Whether a proposal goes to the project's own repository, for the branch that is checked out, with a text that can be read here. */
function isOwnProposal(call: ProgramCall): boolean {
  const { args, fence } = call
  const branch = findFlag(args, ['--head', '-H', '--source-branch', '-s'], 'HBbFtalmprs')?.value
  const head = branch && fence.look?.(`${fence.boundary}/.git/HEAD`)
  if (head?.is === 'file' && head.bytes.toString('utf8').trim() !== `ref: refs/heads/${branch?.value}`) return false
  // A file with the text is one that was written to be read.
  const isText = (value: string) =>
    (/^(-|[\w-][\w./-]*\.(md|txt))$/.test(value) && !value.includes('..')) || isSpelledText(call, value)
  return args.every(({ known, value }, at) => {
    if (!known || /^(-R|--repo|-H|--hostname|--recover)(=|$)/.test(value)) return false
    const [, attached] = /^(?:--body-file=|-F=?)(.+)$/s.exec(value) ?? []
    if (attached !== undefined) return isText(attached)
    return !/^(--body-file|-F)$/.test(args[at - 1]?.value ?? '') || isText(value)
  })
}
