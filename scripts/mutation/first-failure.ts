import type { TestEvent } from 'node:test/reporters'

/** Begins the line by which a process of tests tells that one failed. */
export const FAILED = '\u0001failed '

/** Tells each failure at once: one is enough to end the process. */
export default async function* firstFailure(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of source) {
    if (type === 'test:fail' && data.todo === undefined)
      yield `\n${FAILED}${JSON.stringify({ file: data.file, title: data.name })}\n`
  }
}
