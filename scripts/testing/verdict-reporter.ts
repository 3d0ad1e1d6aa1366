import { readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { spec, type TestEvent } from 'node:test/reporters'

/** The report of a test process at its end; without it, the process died before its tests were over. */
export interface Verdict {
  success: boolean
  tests: number
  passed: number
  skipped: number
  todo: number
  /** The processor time of the process and of every child that it waited for. */
  cpuMs: number
  /** The full output of the spec reporter, if a test failed. */
  told: string
  /** The files that failed, if the process ran several. */
  failed: string[]
}

/** Writes one JSON line when everything in this process is over. */
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

/** `together.ts` makes each file a suite. */
function isFile(event: TestEvent): event is Extract<TestEvent, { type: 'test:fail' }> {
  return event.type === 'test:fail' && event.data.nesting === 0 && event.data.details.type === 'suite'
}

async function inFull(events: TestEvent[]): Promise<string> {
  let told = ''
  for await (const chunk of Readable.from(events).pipe(new spec())) told += chunk
  return told
}

/** Linux includes the time of ended children, in hundredths of a second; elsewhere only this process counts. */
function cpuMs(): number {
  if (process.platform !== 'linux') return Math.round((process.cpuUsage().user + process.cpuUsage().system) / 1000)
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * 10
}
