import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Context } from '../context.ts'

/** Prints lines: through the person's pager where somebody looks and they do not fit, else as they are. */
export async function pageOut(lines: readonly string[], { env, out }: Pick<Context, 'env' | 'out'>): Promise<void> {
  const rows = process.stdout.rows ?? 24
  const fits = !process.stdout.isTTY || lines.length < rows
  if (fits || !(await throughPager(lines, env))) for (const line of lines) out(line)
}

/** False where there is no pager: nothing was shown then. */
async function throughPager(lines: readonly string[], env: Context['env']): Promise<boolean> {
  const wanted = env['PCC_PAGER'] ?? env['PAGER'] ?? 'less'
  if (wanted === '' || wanted === 'cat') return false
  // As git does: colours are shown, a short text is left on the screen, the terminal is put back as it was.
  const child = spawn('/bin/sh', ['-c', wanted], {
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { LESS: 'FRX', ...env },
  })
  child.stdin.on('error', () => undefined) // who has seen enough leaves before the end
  child.stdin.end(`${lines.join('\n')}\n`)
  const [code] = await once(child, 'close').catch(() => [NOT_FOUND])
  return code !== NOT_FOUND
}

/** What a shell says of a program that it does not find. */
const NOT_FOUND = 127
