import type { Context } from '../context.ts'

/** Says what takes its time while it does, on a terminal only, and takes the line away again. */
export async function during<T>(words: string, { json, quiet }: Context, work: () => Promise<T>): Promise<T> {
  const isShown = process.stderr.isTTY === true && !json && !quiet
  if (isShown) process.stderr.write(`${words} …`)
  try {
    return await work()
  } finally {
    if (isShown) process.stderr.write('\r\x1b[K')
  }
}
