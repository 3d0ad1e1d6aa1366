import { AppError } from '../../base/errors.ts'
import { findProgram } from '../../base/process/find-program.ts'
import { problemOf, runShort } from '../../base/process/run-short.ts'

/** The socket of the installation's tmux server, beside the daemon's own: just as short, and just as private. */
export function tmuxSocket(daemonSocket: string): string {
  return daemonSocket.replace(/\.sock$/, '.tmux')
}

/** A command to a tmux server takes milliseconds; a server that does not answer for this long hangs. */
const ANSWER_MS = 10_000
const MAX_BYTES = 1_000_000

/** A name without special characters, like our ids. */
const PLAIN_NAME = /^[A-Za-z0-9][\w-]*$/

export interface TmuxWindow {
  /** tmux's own id of the pane. */
  pane: string
  /** The process in it. */
  pid: number
}

export interface NewWindow {
  /** Name of the tmux session: each has one window, so that a person can attach to it alone. */
  name: string
  /** Runs in the window without a shell. It starts in `/` and changes to its working folder by itself. */
  command: readonly string[]
}

/**
 * The tmux server of one installation, on a socket of its own and without the person's configuration, so that neither affects the
 * other. The server starts with the first window and ends with the last one.
 */
export class Tmux {
  readonly socket: string
  readonly #env: Record<string, string | undefined>

  constructor(socket: string, env: Record<string, string | undefined>) {
    this.socket = socket
    this.#env = env
  }

  /** Throws `tmux_missing`, which says how to install it. */
  check(): void {
    if (findProgram('tmux', this.#env) === undefined) throw new AppError('tmux_missing', {})
  }

  /**
   * tmux reads a directory and a name as its own formats, in which `#(…)` is a command: so it gets no directory, and a name that
   * cannot hold a command.
   */
  async open({ name, command }: NewWindow): Promise<TmuxWindow> {
    this.check()
    if (!PLAIN_NAME.test(name)) throw failed(`${JSON.stringify(name.slice(0, 60))} is no name for a window`)
    const output = await this.#run([
      ...['new-session', '-d', '-s', name, '-x', '200', '-y', '50', '-c', '/'],
      ...['-P', '-F', '#{pane_id} #{pane_pid}', '--', ...command],
      ...[';', 'set-option', '-g', 'update-environment', ''],
      ...[';', 'set-option', '-g', 'status-left', ' pcc #S '],
      ...[';', 'set-option', '-g', 'status-left-length', '40'],
      ...[';', 'set-option', '-g', 'status-right', ' leave: Ctrl-b d '],
      ...[';', 'set-option', '-g', 'window-status-format', ''],
      ...[';', 'set-option', '-g', 'window-status-current-format', ''],
      ...[';', 'set-option', '-g', 'history-limit', '20000'],
    ])
    const [pane = '', pid = ''] = output.trim().split(' ')
    if (!/^%\d+$/.test(pane) || !/^\d+$/.test(pid))
      throw failed(`new-session said ${JSON.stringify(output.slice(0, 200))}`)
    return { pane, pid: Number(pid) }
  }

  /** Types a prompt as one bracketed paste. */
  async paste(pane: string, prompt: string): Promise<void> {
    const buffer = `pcc-${pane.slice(1)}`
    await this.#run(['load-buffer', '-b', buffer, '-'], pasteText(prompt))
    await this.#run(['paste-buffer', '-p', '-d', '-b', buffer, '-t', pane])
  }

  async press(pane: string, key: 'Enter' | 'Escape'): Promise<void> {
    await this.#run(['send-keys', '-t', pane, key])
  }

  /** Ends the window; a window that is gone already is fine. */
  async close(name: string): Promise<void> {
    await this.#run(['kill-session', '-t', `=${name}`]).catch(() => undefined)
  }

  async #run(args: string[], input?: string): Promise<string> {
    const result = await runShort({
      command: 'tmux',
      args: ['-u', '-S', this.socket, '-f', '/dev/null', ...args],
      ...{ cwd: '/', env: this.#minimalEnv(), input, timeoutMs: ANSWER_MS, maxBytes: MAX_BYTES },
    })
    const problem = problemOf(result)
    if (problem !== undefined) throw failed(result.stderr.trim() || problem)
    return result.stdout
  }

  /** The server keeps the environment of the process that started it and passes it to every window: so it gets next to nothing. */
  #minimalEnv(): Record<string, string> {
    const { PATH = '/usr/bin:/bin', HOME, PCC_TEST_RUN } = this.#env
    return {
      ...{ PATH, LANG: 'C.UTF-8', TERM: 'xterm-256color' },
      ...(HOME !== undefined && { HOME }),
      ...(PCC_TEST_RUN !== undefined && { PCC_TEST_RUN }),
    }
  }
}

function failed(problem: string): AppError {
  return new AppError('tmux_failed', { problem })
}

/** The start of a line that Claude Code does not read as text but as a command, a shell line or a memory. */
const SPECIAL = /^\s*[/!#&@?]/

/** Written before such a text, on a line of its own: a space would be trimmed. */
const INTRODUCTION = 'What is to be done:'

/**
 * A prompt in a form that can be pasted. Control characters would be keys (among them the end of a bracketed paste, after which
 * everything is typed), so only line ends and tabs stay. A text that begins like a command gets a line before it: Claude Code
 * runs a pasted `!rm …` at once, without a call that anybody could judge.
 */
export function pasteText(prompt: string): string {
  const lines = prompt.replace(/\r\n?/g, '\n')
  const text = lines.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '').replace(/[\u2028\u2029]/g, '\n')
  return SPECIAL.test(text) ? `${INTRODUCTION}\n${text}` : text
}
