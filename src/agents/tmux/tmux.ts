import { execFile } from 'node:child_process'
import { AppError, messageOf } from '../../base/errors.ts'
import { findProgram } from '../../base/process/find-program.ts'

/** The socket of the installation's tmux server, beside the daemon's own: as short, and as closed to others. */
export function tmuxSocket(daemonSocket: string): string {
  return daemonSocket.replace(/\.sock$/, '.tmux')
}

/** One word to a tmux server takes milliseconds; a server that does not answer for so long hangs. */
const ANSWER_MS = 10_000

/** Ids of ours are. */
const PLAIN = /^[A-Za-z0-9][\w-]*$/

export interface TmuxWindow {
  /** tmux's own id of the pane. */
  pane: string
  /** The process in it. */
  pid: number
}

export interface NewWindow {
  /** Name of the tmux session: one window each, so that a person can attach to it alone. */
  name: string
  /** Runs in the window, without a shell in between. It begins in `/` and goes where it works by itself. */
  command: readonly string[]
}

/**
 * The tmux server of one installation, on a socket of its own and without the person's configuration: theirs is not touched, and
 * nothing that stands in it changes what happens here. It is started with the first window and goes with the last one.
 */
export class Tmux {
  readonly socket: string
  readonly #env: Record<string, string | undefined>

  constructor(socket: string, env: Record<string, string | undefined>) {
    this.socket = socket
    this.#env = env
  }

  /** Throws `tmux_missing`, with how to get it. */
  check(): void {
    if (findProgram('tmux', this.#env) === undefined) throw new AppError('tmux_missing', {})
  }

  /**
   * tmux takes a directory and a name for formats of its own, in which `#(…)` is a command: so it gets no directory, and a name
   * that cannot hold one.
   */
  async open({ name, command }: NewWindow): Promise<TmuxWindow> {
    this.check()
    if (!PLAIN.test(name)) throw failed(`${JSON.stringify(name.slice(0, 60))} is no name for a window`)
    const told = await this.#run([
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
    const [pane = '', pid = ''] = told.trim().split(' ')
    if (!/^%\d+$/.test(pane) || !/^\d+$/.test(pid))
      throw failed(`new-session said ${JSON.stringify(told.slice(0, 200))}`)
    return { pane, pid: Number(pid) }
  }

  /** Types a prompt as one bracketed paste, then Enter. */
  async paste(pane: string, prompt: string): Promise<void> {
    const buffer = `pcc-${pane.slice(1)}`
    await this.#run(['load-buffer', '-b', buffer, '-'], pasteText(prompt))
    await this.#run(['paste-buffer', '-p', '-d', '-b', buffer, '-t', pane])
  }

  async press(pane: string, key: 'Enter' | 'Escape'): Promise<void> {
    await this.#run(['send-keys', '-t', pane, key])
  }

  /** Ends the window; one that is gone already is fine. */
  async close(name: string): Promise<void> {
    await this.#run(['kill-session', '-t', `=${name}`]).catch(() => undefined)
  }

  #run(args: string[], input?: string): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const child = execFile(
      'tmux',
      ['-u', '-S', this.socket, '-f', '/dev/null', ...args],
      { cwd: '/', env: this.#bare(), timeout: ANSWER_MS, killSignal: 'SIGKILL' },
      (error, stdout, stderr) => (error ? reject(failed(stderr.trim() || messageOf(error))) : resolve(stdout)),
    )
    child.stdin?.on('error', () => undefined) // that it is gone is told by its end
    child.stdin?.end(input)
    return promise
  }

  /** The server keeps the environment of whoever started it, and shows it in every window: so it gets next to nothing. */
  #bare(): Record<string, string> {
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

/** What a line of input begins with where Claude Code takes it for something else than words: a command, a shell line, a memory. */
const SPECIAL = /^\s*[/!#&@?]/

/** Put before such a text, on a line of its own: a space would be cut off again. */
const BEFORE = 'What is to be done:'

/**
 * A prompt as it can be pasted. Control characters would be keys (the end of a bracketed paste among them, behind which whatever
 * follows is typed), so only line ends and tabs stay. A text that begins like a command is led in by a line of words: a pasted
 * `!rm …` is run by Claude Code at once, without a call that anybody could judge.
 */
export function pasteText(prompt: string): string {
  const lines = prompt.replace(/\r\n?/g, '\n')
  const words = lines.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '').replace(/[\u2028\u2029]/g, '\n')
  return SPECIAL.test(words) ? `${BEFORE}\n${words}` : words
}
