import { relative } from 'node:path'
import { Readable } from 'node:stream'
import { spec, type TestEvent } from 'node:test/reporters'
import { styleText } from 'node:util'

type Summary = Extract<TestEvent, { type: 'test:summary' }>['data']

/** One line for a file that passes; everything the spec reporter has to say about one that does not. */
export default async function* compactReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const held = new Map<string, TestEvent[]>()
  for await (const event of source) {
    if (event.type === 'test:summary' && event.data.file === undefined) {
      for (const events of held.values()) if (events.some(isFailure)) yield* inFull(events)
      yield totals(event.data)
      continue
    }
    const file = fileOf(event)
    const events = held.get(file) ?? []
    events.push(event)
    held.set(file, events)
    if (event.type !== 'test:summary') continue
    held.delete(file)
    if (event.data.success && !events.some(isFailure)) yield passed(file, event.data)
    else yield* inFull(events)
  }
}

/** A test that a shared suite defines belongs to the file that was run, which the types do not know yet. */
function fileOf({ data }: TestEvent): string {
  if (data && 'entryFile' in data && typeof data.entryFile === 'string') return data.entryFile
  return data && 'file' in data && typeof data.file === 'string' ? data.file : ''
}

function isFailure(event: TestEvent): boolean {
  return event.type === 'test:fail' && event.data.todo === undefined
}

function passed(file: string, { counts, duration_ms }: Summary): string {
  const mark = styleText('green', '✓')
  const skipped = counts.skipped > 0 ? styleText('yellow', `, ${counts.skipped} skipped`) : ''
  const cost = styleText('dim', `${counts.tests} in ${seconds(duration_ms)}${skipped}`)
  return `${mark} ${relative(process.cwd(), file)} ${cost}\n`
}

async function* inFull(events: TestEvent[]): AsyncGenerator<string> {
  for await (const chunk of Readable.from(events).pipe(new spec())) yield String(chunk)
  yield '\n'
}

function totals({ counts, duration_ms, success }: Summary): string {
  const failed = counts.tests - counts.passed - counts.skipped - counts.todo
  const words = [`${counts.passed} of ${counts.tests} tests passed`, `in ${seconds(duration_ms)}`]
  if (failed > 0) words.push(`(${failed} failed)`)
  if (counts.skipped > 0) words.push(`(${counts.skipped} skipped)`)
  return styleText(success ? 'green' : 'red', `${words.join(' ')}\n`)
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
