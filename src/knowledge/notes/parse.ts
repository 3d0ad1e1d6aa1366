import { createHash } from 'node:crypto'
import { Document, isCollection, parse, YAMLParseError } from 'yaml'
import * as z from 'zod'
import { messageOf } from '../../base/errors.ts'
import { cleanTags, LONGEST, type Note, plain } from './note.ts'
import { plainFront } from './plain-front.ts'

const Text = z.union([z.string(), z.number(), z.boolean()]).transform(String)
const Front = z.looseObject({
  title: Text,
  tags: z.union([z.array(Text), Text.transform(tags => tags.split(','))]).nullish(),
  feature: Text.nullish(),
  by: z.string().nullish(),
  task: z.string().nullish(),
  seal: z.string().nullish(),
  created_at: z.string().nullish(),
  updated_at: z.string().nullish(),
})

/** More than anybody writes about a note; YAML can be made to take very long. */
const LONGEST_FRONT = 8_000

/** The note that a file holds, or what is wrong with it. */
export function parseNote(file: string, text: string): Note | { problem: string } {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/)
  if (lines[0]?.trimEnd() !== '---') return { problem: 'it does not begin with front matter (a line ---)' }
  const end = lines.findIndex((line, index) => index > 0 && /^(---|\.\.\.)\s*$/.test(line))
  if (end < 0) return { problem: 'its front matter is not closed by a line ---' }
  const front = lines.slice(1, end).join('\n')
  if (front.length > LONGEST_FRONT) return { problem: `its front matter is longer than ${LONGEST_FRONT} characters` }
  const read = readFront(front)
  if ('problem' in read) return read
  const { title, tags, feature, by, task, seal, created_at, updated_at, ...more } = read.front
  const name = plain(title).replace(/\s+/g, ' ').slice(0, LONGEST.title).toWellFormed()
  if (name === '') return { problem: 'its title is empty' }
  const body = plain(lines.slice(end + 1).join('\n'))
  return {
    ...{ file, title: name, tags: cleanTags(tags ?? []), body, more },
    by: by === 'agent' && seal === sealOf(name, body) ? 'agent' : 'person',
    ...(feature != null && { feature: plain(feature) }),
    ...(task != null && { task }),
    ...(created_at != null && { created_at }),
    ...(updated_at != null && { updated_at }),
  }
}

/** The file of a note. */
export function noteText({ title, tags, feature, by, task, created_at, updated_at, body, more }: Note): string {
  const front = {
    ...{ title, tags },
    ...(feature !== undefined && { feature }),
    ...(created_at !== undefined && { created_at }),
    ...(updated_at !== undefined && updated_at !== created_at && { updated_at }),
    ...(by === 'agent' && { by, ...(task !== undefined && { task }), seal: sealOf(title, body) }),
    ...more,
  }
  const document = new Document(front)
  const list = document.get('tags', true)
  if (isCollection(list)) list.flow = true
  return `---\n${document.toString({ lineWidth: 0, flowCollectionPadding: false })}---\n\n${body}\n`
}

/** By this a note that an agent wrote is known to be as it left it: one that a person has changed is theirs. */
function sealOf(title: string, body: string): string {
  return createHash('sha256').update(`${title}\n${body}`).digest('hex').slice(0, 12)
}

function readFront(text: string): { front: z.infer<typeof Front> } | { problem: string } {
  let value: unknown
  try {
    value = plainFront(text) ?? parse(text, { maxAliasCount: 10, schema: 'core', logLevel: 'error' })
  } catch (error) {
    return { problem: `its front matter is no YAML: ${yamlProblem(error)}` }
  }
  const read = Front.safeParse(value)
  if (read.success) return { front: read.data }
  const [issue] = read.error.issues
  const where = issue?.path.join('.')
  if (where === 'title' || !where) return { problem: 'its front matter has no title' }
  return { problem: `its front matter has a wrong ${where}` }
}

/** Where in the file: the front matter begins on its second line. */
function yamlProblem(error: unknown): string {
  const [message = ''] = messageOf(error).split(/ at line \d+|\n/)
  const line = error instanceof YAMLParseError ? error.linePos?.[0].line : undefined
  return line === undefined ? message : `line ${line + 1}, ${message}`
}
