import { findProgram } from '../../base/process/find-program.ts'
import { problemOf, runShort } from '../../base/process/run-short.ts'
import { escapeMarkup } from './channels.ts'
import type { Channel, NotifyMessage, SendResult } from './notice.ts'

type Env = Record<string, string | undefined>

/** A desktop that does not answer must not delay the other channels. */
const PATIENCE_MS = 10_000
const MAX_BYTES = 1_000_000

export interface Desktop {
  program: string
  via: 'notify-send' | 'osascript'
}

/** Finds the program that shows notifications on this desktop; undefined on a machine without a desktop. */
export function findDesktop(env: Env, platform: string = process.platform): Desktop | undefined {
  const via = platform === 'darwin' ? 'osascript' : 'notify-send'
  if (via === 'notify-send' && !(env['DBUS_SESSION_BUS_ADDRESS'] || env['DISPLAY'] || env['WAYLAND_DISPLAY']))
    return undefined
  const program = findProgram(via, env)
  return program === undefined ? undefined : { program, via }
}

/** Shows notices on the desktop. Text is passed as arguments, never as a part of a script or a command line. */
export function desktopChannel({ program, via }: Desktop, env: Env): Channel {
  const buildArgs = via === 'osascript' ? osascriptArgs : notifySendArgs
  return { name: 'desktop', send: (message, signal) => run(program, buildArgs(message), env, signal) }
}

function notifySendArgs({ kind, title, text, sound }: NotifyMessage): string[] {
  const urgency = kind === 'question' || kind === 'error' ? 'critical' : 'normal'
  const hint = sound ? ['--hint=string:sound-name:message-new-instant'] : ['--hint=boolean:suppress-sound:true']
  return ['--app-name=PerpetualCC', `--urgency=${urgency}`, ...hint, '--', title, escapeMarkup(text)]
}

const SCRIPT = (sound: string) => [
  'on run argv',
  `display notification (item 3 of argv) with title (item 1 of argv) subtitle (item 2 of argv)${sound}`,
  'end run',
]

/** The first argument is ours and begins with a letter, so the following ones are never read as options. */
function osascriptArgs({ title, text, sound }: NotifyMessage): string[] {
  const lines = SCRIPT(sound ? ' sound name "Ping"' : '').flatMap(line => ['-e', line])
  return [...lines, 'PerpetualCC', title, text]
}

async function run(program: string, args: string[], env: Env, signal: AbortSignal): Promise<SendResult> {
  const limits = { timeoutMs: PATIENCE_MS, maxBytes: MAX_BYTES }
  const result = await runShort({ command: program, args, cwd: '/', env, ...limits }, signal)
  const problem = problemOf(result)
  if (problem === undefined) return { ok: true }
  return { ok: false, problem: (result.stderr.trim().split('\n')[0] || problem).slice(0, 200) }
}
