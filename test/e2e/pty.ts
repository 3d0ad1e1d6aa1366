import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readlinkSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import type { Pcc } from '../cli/pcc.ts'
import { BIN } from '../support/program.ts'

export interface Pty {
  /** Everything shown so far, as it was sent. */
  raw(): string
  /** Resolves when what was shown since the last match matches; the rest stays for the next. */
  see(pattern: RegExp): Promise<RegExpExecArray>
  type(text: string): void
  /** Gives the terminal another size, as a person who drags its corner does. */
  resize(columns: number, rows: number): void
  /** Ends the command, as a person who closes the window does. */
  close(): Promise<unknown>
  /** The exit code of the command. */
  exit: Promise<number | null>
}

const PATIENCE_MS = 120_000

/** Runs `pcc` on a terminal. */
export function onTerminal(t: TestContext, pcc: Pcc, args: string[], env: Record<string, string> = {}): Pty {
  return openPty(t, [process.execPath, BIN, ...args], { cwd: pcc.home, env: { ...pcc.env, NO_COLOR: '1', ...env } })
}

/** A real pseudo-terminal, made by `script` of util-linux, which every Debian has (it is in the essential package bsdutils). */
export function openPty(
  t: TestContext,
  command: string[],
  { cwd, env }: { cwd: string; env: Record<string, string> },
): Pty {
  const line = ['stty cols 100 rows 40; exec', ...command.map(quoted)].join(' ')
  const child = spawn('script', ['-qfec', line, '/dev/null'], {
    ...{ cwd, env: { ...env, SHELL: '/bin/sh' } },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  t.after(() => child.kill('SIGKILL'))
  let shown = ''
  let read = 0
  const news = new EventTarget()
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    shown += chunk
    news.dispatchEvent(new Event('more'))
  })
  const over = once(child, 'close').then(() => {
    news.dispatchEvent(new Event('more'))
    return child.exitCode
  })
  return {
    raw: () => shown,
    async see(pattern) {
      const deadline = AbortSignal.timeout(PATIENCE_MS)
      for (;;) {
        const found = pattern.exec(plain(shown).slice(read))
        if (found) {
          read += found.index + found[0].length
          return found
        }
        if (deadline.aborted || child.exitCode !== null) {
          throw new Error(
            `not seen: ${pattern}${child.exitCode === null ? '' : ' (the command ended)'} in:\n${plain(shown)}`,
          )
        }
        await Promise.race([once(news, 'more'), once(deadline, 'abort')])
      }
    },
    type: text => child.stdin.write(text),
    resize(columns, rows) {
      const [inside = ''] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ')
      const terminal = readlinkSync(`/proc/${inside}/fd/0`)
      execFileSync('stty', ['-F', terminal, 'cols', String(columns), 'rows', String(rows)])
    },
    close() {
      child.kill('SIGTERM')
      return over
    },
    exit: over,
  }
}

/**
 * What was shown, as text that only ever grows: a prompt that is drawn over starts a new line, other sequences are dropped,
 * and one that has not arrived whole yet is held back.
 */
function plain(shown: string): string {
  const whole = shown.replace(/\x1b[^a-zA-Z\\]*$|\r$/, '')
  return stripVTControlCharacters(whole.replaceAll('\r\x1b[2K', '\n').replaceAll('\r\n', '\n'))
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
