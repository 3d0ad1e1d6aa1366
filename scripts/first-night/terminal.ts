import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)
const LOOK_MS = 200
/** Of one command, on a machine that may be busy with other things. */
const PATIENCE_MS = 400_000
const WIDTH = 100
const HEIGHT = 40
/** The prompt of the shell: the exit code of the last command, and a word that nothing else prints. */
const PROMPT = /(?:^|\n)(\d+) bookshelf> $/

export interface Reply {
  /** What a program asks at the end of the screen. */
  to: RegExp
  keys: string[]
}

export interface Terminal extends AsyncDisposable {
  /** Types a command, answers what it asks, and returns what it printed and its exit code. */
  type(command: string, replies?: Reply[]): Promise<{ text: string; code: number }>
}

/** A real terminal: bash in a window of a tmux server of its own, with nothing of this machine's environment. */
export async function openTerminal(env: Record<string, string>, cwd: string): Promise<Terminal> {
  const tmux = async (...words: string[]) =>
    (await run('tmux', ['-L', 'night', '-f', '/dev/null', ...words], { env })).stdout
  const shell = ['env', 'PS1=$? bookshelf> ', 'bash', '--norc', '--noprofile', '-i']
  const size = ['-x', `${WIDTH}`, '-y', `${HEIGHT}`]
  await tmux('new-session', '-d', '-s', 'night', ...size, '-c', cwd, ...shell)
  await tmux('set-option', '-g', 'history-limit', '50000')
  const server = Number(await tmux('display-message', '-p', '-t', 'night', '#{pid}'))
  const screen = async () =>
    (await tmux('capture-pane', '-p', '-J', '-S', '-', '-t', 'night')).replace(/\n+$/, '\n').trimEnd()

  /** Looks until the prompt is back; a pane reports to nobody that it has changed. */
  async function settle(replies: Reply[]): Promise<{ text: string; code: number }> {
    const deadline = Date.now() + PATIENCE_MS
    let answered = ''
    for (;;) {
      const text = await screen()
      const prompt = PROMPT.exec(`${text} `)
      if (prompt) return { text: text.slice(0, prompt.index), code: Number(prompt[1]) }
      const reply = text === answered ? undefined : replies.find(({ to }) => to.test(text))
      if (reply) {
        answered = text
        await tmux('send-keys', '-t', 'night', ...reply.keys)
      }
      if (Date.now() > deadline)
        throw new Error(`The terminal stands still at:\n${text.split('\n').slice(-HEIGHT).join('\n')}`)
      await sleep(LOOK_MS)
    }
  }

  await settle([])
  return {
    async type(command, replies = []) {
      await tmux('send-keys', '-t', 'night', 'clear', 'Enter')
      await settle([])
      await tmux('clear-history', '-t', 'night')
      await tmux('send-keys', '-t', 'night', '-l', command)
      await tmux('send-keys', '-t', 'night', 'Enter')
      await sleep(LOOK_MS)
      const { text, code } = await settle(replies)
      return { text: text.replace(/^.*bookshelf> /, '$ '), code }
    },
    async [Symbol.asyncDispose]() {
      process.kill(server, 'SIGTERM')
    },
  }
}
