import { once } from 'node:events'
import { resolve } from 'node:path'
import type { Writable } from 'node:stream'
import * as z from 'zod'
import { issueText, messageOf } from '../../base/errors.ts'
import type { Reason } from '../../domain/assessment.ts'
import { type Classifier, openClassifier } from '../../policy/classify/classify.ts'
import { judgeExplained, type ProjectPolicy } from '../../supervisor/judge-call.ts'

/** Room for a command of 1 MB with every character escaped. */
const MAX_LINE_BYTES = 16 * 1024 * 1024
/** Answers are written when this many characters are collected, or at the end of each chunk. */
const WRITE_AT = 64 * 1024
/** How many projects' policies are cached; a batch that names more loads some again. */
const MAX_PROJECTS = 64

/** The reasons of the highest risk come first; a hostile command can have thousands. */
const MAX_REASONS = 50

const Id = z.union([z.string(), z.number(), z.null()])
const Row = z.object({
  id: Id.default(null),
  tool: z.string().min(1),
  input: z.unknown(),
  project: z.string().min(1).optional(),
  home: z.string().min(1).optional(),
})
type Row = z.infer<typeof Row>

export interface BatchDeps {
  input: AsyncIterable<Buffer>
  output: Writable
  /** The project of a line that names none. */
  project: string
  home: string
  policyFor(project: string): Promise<ProjectPolicy>
}

/** Writes one verdict for each line, in order, as if nobody were there to ask. Memory holds at most one line and the answers of one chunk. */
export async function runBatch({ input, output, project, home, policyFor }: BatchDeps): Promise<void> {
  using classifier = openClassifier()
  const policies = cachePolicies(policyFor)
  let answers = ''
  const flush = async () => {
    const text = answers
    answers = ''
    if (text !== '' && !output.write(text)) await once(output, 'drain')
  }
  for await (const lines of splitLines(input, MAX_LINE_BYTES)) {
    for (const line of lines) {
      const answer = await answerLine(line, { classifier, policies, project, home })
      if (answer !== undefined) answers += `${JSON.stringify(answer)}\n`
      if (answers.length > WRITE_AT) await flush()
    }
    await flush()
  }
}

interface BatchContext {
  classifier: Classifier
  policies(project: string): Promise<ProjectPolicy>
  project: string
  home: string
}

async function answerLine(line: BatchLine, context: BatchContext): Promise<object | undefined> {
  if ('tooLong' in line)
    return refusal(null, 'line_too_long', `the line has ${line.tooLong} bytes, more than ${MAX_LINE_BYTES}`)
  const text = line.bytes.toString('utf8').replace(/^\uFEFF/, '')
  if (text.trim() === '') return undefined
  const read = readRow(text)
  if ('error' in read) return read
  // Decoding replaced the invalid bytes, so the text is not what would run.
  if (!isText(line.bytes)) return refusal(read.row.id, 'not_utf8', 'the line is not text in UTF-8')
  try {
    return await judgeRow(read.row, context)
  } catch (thrown) {
    return refusal(read.row.id, 'failed', messageOf(thrown))
  }
}

async function judgeRow(row: Row, { classifier, policies, project, home }: BatchContext): Promise<object> {
  const { id, tool, input } = row
  const call = { tool, input, project: resolve(row.project ?? project), home: resolve(row.home ?? home) }
  const policy = await policies(call.project)
  const { assessment, decision } = await judgeExplained(call, { classifier, policy, attached: false })
  const { risk, verdict, confidence, by, rule } = decision
  return {
    id,
    risk,
    verdict,
    confidence,
    reasons: assessment.reasons.slice(0, MAX_REASONS).map(shortenReason),
    by,
    ...(rule !== undefined && { rule }),
  }
}

function readRow(text: string): { row: Row } | { error: object } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (thrown) {
    return refusal(null, 'not_json', messageOf(thrown))
  }
  const row = Row.safeParse(value)
  if (row.success) return { row: row.data }
  const id = Id.safeParse((value as { id?: unknown } | null)?.id)
  const [issue] = row.error.issues
  const where = issue?.path.join('.') ?? ''
  const problem = issueText(issue)
  return refusal(id.success ? id.data : null, 'not_valid', where === '' ? problem : `${where}: ${problem}`)
}

function refusal(
  id: string | number | null,
  code: string,
  message: string,
): { id: string | number | null; error: object } {
  return { id, error: { code, message: shorten(message) } }
}

/** A reason quotes words of the command, which may be as long as the command. */
function shortenReason({ code, risk, text, at }: Reason): object {
  return { code, risk, text: shorten(text), ...(at && { at }) }
}

function shorten(text: string): string {
  return text.length > 400 ? `${text.slice(0, 399)}…` : text
}

const strictDecoder = new TextDecoder('utf-8', { fatal: true })

function isText(bytes: Buffer): boolean {
  try {
    strictDecoder.decode(bytes)
    return true
  } catch {
    return false
  }
}

function cachePolicies(policyFor: BatchDeps['policyFor']): BatchDeps['policyFor'] {
  const cache = new Map<string, Promise<ProjectPolicy>>()
  return project => {
    const policy = cache.get(project) ?? policyFor(project)
    if (!cache.has(project)) {
      const [oldest] = cache.keys()
      if (cache.size >= MAX_PROJECTS && oldest !== undefined) cache.delete(oldest)
      cache.set(project, policy)
    }
    return policy
  }
}

/** The bytes of a line, or only the length of a line that is too long to keep. */
type BatchLine = { bytes: Buffer } | { tooLong: number }

/** Yields the lines that end in each chunk. At most one unfinished line is held, and no more than `maxBytes` of it. */
async function* splitLines(stream: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<BatchLine[]> {
  let held: Buffer[] = []
  let length = 0
  const append = (part: Buffer): void => {
    length += part.length
    if (length > maxBytes) held = []
    else held.push(part)
  }
  const finish = (): BatchLine => {
    const line = length > maxBytes ? { tooLong: length } : { bytes: Buffer.concat(held) }
    held = []
    length = 0
    return line
  }
  for await (const chunk of stream) {
    const lines: BatchLine[] = []
    let from = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      append(chunk.subarray(from, end))
      lines.push(finish())
      from = end + 1
    }
    if (from < chunk.length) append(chunk.subarray(from))
    if (lines.length > 0) yield lines
  }
  if (length > 0) yield [finish()]
}
