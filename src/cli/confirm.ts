import { createInterface } from 'node:readline/promises'
import { AppError } from '../base/errors.ts'

export interface ConfirmOptions {
  /** `Resetting the settings`: begins the sentence of the refusal. */
  action: string
  question: string
  /** `--yes` */
  yes: boolean
  input?: NodeJS.ReadableStream & { isTTY?: boolean }
  output?: NodeJS.WritableStream
}

/** Asks a person y/N. Throws when the answer is no, and when nobody is there and `--yes` was not given. */
export async function confirm({ action, question, yes, ...streams }: ConfirmOptions): Promise<void> {
  if (yes) return
  const input = streams.input ?? process.stdin
  if (!input.isTTY) throw new AppError('confirmation_needed', { action })
  const lines = createInterface({ input, output: streams.output ?? process.stderr })
  const gone = new Promise<string>(done => lines.once('close', () => done('')))
  try {
    const answer = await Promise.race([lines.question(`${question} [y/N] `), gone])
    if (!/^y(es)?$/i.test(answer.trim())) throw new AppError('not_confirmed', { action })
  } finally {
    lines.close()
  }
}
