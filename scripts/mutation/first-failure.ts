import type { TestEvent } from 'node:test/reporters'

/** The prefix of the line with which a test process reports a failure. */
export const FAILED = '\u0001failed '

/** Reports each failure at once, because one is enough to end the process. */
export default async function* firstFailure(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of source) {
    if (type === 'test:fail' && data.todo === undefined)
      yield `\n${FAILED}${JSON.stringify({ file: data.file, title: data.name })}\n`
  }
}
