import { readFileSync } from 'node:fs'
import * as z from 'zod'
import { Answer, Failure, Question, Request, Verdict } from '../domain/session.ts'

const Park = z.object({ park: z.literal(true), reason: z.string() })

/** The lines that we put between the vendor's messages, as `recorder.ts` writes them. */
const NoteLine = z.union([
  z.object({ pcc: z.literal('open'), agent: z.string(), resumed: z.boolean() }),
  z.object({ pcc: z.literal('past'), spent: z.unknown() }),
  z.object({ pcc: z.literal('prompt'), text: z.string() }),
  z.object({ pcc: z.literal('pause') }),
  z.object({ pcc: z.literal('interrupt') }),
  z.object({ pcc: z.literal('call'), request: Request }),
  z.object({ pcc: z.literal('gave-up'), request: Request }),
  z.object({ pcc: z.literal('ask'), kind: z.literal('permission'), request: Request, reply: z.union([Park, Verdict]) }),
  z.object({ pcc: z.literal('ask'), kind: z.literal('question'), request: Question, reply: z.union([Park, Answer]) }),
  z.object({ pcc: z.literal('ended'), by: z.enum(['owner', 'agent']), failure: Failure.optional() }),
])
export type NoteLine = z.infer<typeof NoteLine>
export type AskLine = Extract<NoteLine, { pcc: 'ask' }>

export type RecordedLine = { note: NoteLine } | { message: unknown }

/** One session of a recording. */
export interface RecordedSession {
  resumed: boolean
  lines: RecordedLine[]
}

/** Reads a recording; a file that was recorded into several times holds several sessions. */
export function readRecording(file: string): RecordedSession[] {
  const sessions: RecordedSession[] = []
  const texts = readFileSync(file, 'utf8').split('\n')
  for (const [at, text] of texts.entries()) {
    if (text.trim() === '') continue
    const line = readLine(text)
    if (!line) throw new Error(`${file}:${at + 1}: is not a line of a recording`)
    if ('note' in line && line.note.pcc === 'open') sessions.push({ resumed: line.note.resumed, lines: [] })
    else sessions.at(-1)?.lines.push(line)
  }
  if (sessions.length === 0) throw new Error(`${file}: holds no recorded session`)
  return sessions
}

function readLine(text: string): RecordedLine | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return undefined
    if (!('pcc' in value)) return { message: value }
    const note = NoteLine.safeParse(value).data
    return note && { note }
  } catch {
    return undefined
  }
}
