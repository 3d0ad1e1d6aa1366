import type { Context } from '../context.ts'

/** Whether somebody sits at this terminal who can be asked. */
export function isInteractive({ json }: Pick<Context, 'json'>): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true && !json
}
