import { execFile } from 'node:child_process'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Pcc } from '../../cli/pcc.ts'
import { BIN } from '../../support/program.ts'

const run = promisify(execFile)

export interface Pane {
  /** Resolves with the whole screen when it matches. A pane tells nobody that it has changed: it is looked at. */
  shows(pattern: RegExp): Promise<string>
  type(...keys: string[]): Promise<void>
}

const PATIENCE_MS = 90_000
const LOOK_MS = 100

/** Runs `pcc` in a pane of a tmux server of its own; its exit code is the last line. */
export async function inTmux(t: TestContext, pcc: Pcc, args: string[]): Promise<Pane> {
  const tmux = (...words: string[]) =>
    run('tmux', ['-L', 'pcc-test', '-f', '/dev/null', ...words], { env: { ...pcc.env, TMUX_TMPDIR: pcc.home } })
  const command = [process.execPath, BIN, ...args].map(quoted).join(' ')
  const whole = `${command}; echo "exit code $?"; exec cat`
  await tmux('new-session', '-d', '-s', 'pcc', '-x', '110', '-y', '40', '-c', pcc.home, 'sh', '-c', whole)
  // By its process: the directory of its socket may be gone before.
  const server = Number((await tmux('display-message', '-p', '-t', 'pcc', '#{pid}')).stdout)
  t.after(() => process.kill(server, 'SIGTERM'))
  const screen = async () => (await tmux('capture-pane', '-p', '-t', 'pcc')).stdout
  return {
    async shows(pattern) {
      const deadline = Date.now() + PATIENCE_MS
      for (;;) {
        const now = await screen()
        if (pattern.test(now)) return now
        if (Date.now() > deadline) throw new Error(`not shown: ${pattern} on:\n${now}`)
        await sleep(LOOK_MS)
      }
    },
    type: async (...keys) => {
      await tmux('send-keys', '-t', 'pcc', ...keys)
    },
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
