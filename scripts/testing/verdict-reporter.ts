import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { spec, type TestEvent } from 'node:test/reporters'

/** What a process of tests has to say at its end; without it the process died before its tests were over. */
export interface Verdict {
  success: boolean
  tests: number
  passed: number
  skipped: number
  todo: number
  /** Processor time of the process and of every child that it waited for. */
  cpuMs: number
  /** Everything the spec reporter has to say, when a test failed. */
  told: string
  /** The files that failed, of several in one process. */
  failed: string[]
}

/** One JSON line, written when everything in this process is over. */
export default async function* verdictReporter(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const events: TestEvent[] = []
  for await (const event of source) events.push(event)
  const summary = events.findLast(event => event.type === 'test:summary')?.data
  if (!summary) return
  const { tests, passed, skipped, todo } = summary.counts
  const success = summary.success && !events.some(isFailure)
  const told = success ? '' : await inFull(events)
  const failed = events.flatMap(event => (isFailure(event) && isFile(event) ? [event.data.name] : []))
  yield JSON.stringify({ success, tests, passed, skipped, todo, cpuMs: cpuMs(), told, failed } satisfies Verdict)
}

function isFailure(event: TestEvent): boolean {
  return event.type === 'test:fail' && event.data.todo === undefined
}

/** `together.ts` makes a suite of each file. */
function isFile(event: TestEvent): event is Extract<TestEvent, { type: 'test:fail' }> {
  return event.type === 'test:fail' && event.data.nesting === 0 && event.data.details.type === 'suite'
}

async function inFull(events: TestEvent[]): Promise<string> {
  let told = ''
  for await (const chunk of Readable.from(events).pipe(new spec())) told += chunk
  return told
}

/** Linux counts, in hundredths of a second, what ended children took too; elsewhere it is this process alone. */
function cpuMs(): number {
  if (process.platform !== 'linux') return Math.round((process.cpuUsage().user + process.cpuUsage().system) / 1000)
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * 10
}
