import { createInterface } from 'node:readline/promises'
import type { TaskWork } from '../../domain/workspace/landing/work-view.ts'
import type { Context } from '../context.ts'

/** What a person says to work that waits for them. */
export interface Said {
  verdict: 'allow' | 'deny'
  reason?: string | undefined
}

/** Asks until it is clear: approve, return with comments, or leave it for later. */
export async function askVerdict({ task }: TaskWork, { note }: Pick<Context, 'note'>): Promise<Said | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const gone = new Promise<undefined>(done => lines.once('close', () => done(undefined)))
  const ask = (question: string) => Promise.race([lines.question(question), gone])
  try {
    for (;;) {
      const said = (await ask(`${task}: [a]pprove, [r]eturn with comments, [l]ater? `))?.trim().toLowerCase()
      if (said === undefined || said === 'l' || said === 'later') return undefined
      if (said === 'a' || said === 'approve') return { verdict: 'allow' }
      if (said !== 'r' && said !== 'return') continue
      const reason = (await ask('What is to be changed? '))?.trim()
      if (reason === undefined) return undefined
      if (reason !== '') return { verdict: 'deny', reason }
      note('Its agent has to know what: nothing was said to it.')
    }
  } finally {
    lines.close()
  }
}
