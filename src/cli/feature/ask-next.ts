import { createInterface } from 'node:readline/promises'
import type { FeatureView } from '../../domain/features/feature.ts'
import type { Context } from '../context.ts'
import { shownPath } from '../render/format.ts'

interface Asking {
  context: Context
  edit(path: string): Promise<void>
}

/** Lets a person read and edit what was written before the next phase begins. False where they leave it for later. */
export async function askNext(feature: FeatureView, { context, edit }: Asking): Promise<boolean> {
  const isPlan = feature.phase === 'tasks'
  const path = isPlan ? feature.plan.path : feature.spec.path
  const shown = shownPath(path, process.cwd(), context.env['HOME'])
  context.out(`The ${isPlan ? 'plan' : 'spec'} is written: ${shown}`)
  context.out('It is yours: every line that you change in it counts from here on.')
  for (;;) {
    const answer = await oneLine(
      `[Enter] ${isPlan ? 'make the tasks' : 'plan it'}  [e] edit  [q] leave it for later  > `,
    )
    if (answer === undefined || /^q/i.test(answer)) return false
    if (answer === '') return true
    if (/^e/i.test(answer)) await edit(path)
  }
}

/** Nothing when the input ended, or at Ctrl+C. */
async function oneLine(question: string): Promise<string | undefined> {
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  const gone = new Promise<undefined>(done => lines.once('close', () => done(undefined)))
  try {
    return await Promise.race([lines.question(question).then(text => text.trim()), gone])
  } finally {
    lines.close()
  }
}
