import type { Authority, Trigger } from '../../domain/memory.ts'

/** More is not compared. It also bounds how long a regular expression of a person can take. */
const LONGEST_TEXT = 300
const LONGEST_PATTERN = 200
/** Each repetition multiplies the steps of a search by the length of the text, each alternative by two. */
const MOST_REPEATS = 3
const MOST_CHOICES = 6

/** Whether a trigger may make an item: patterns match more than was seen, so that only people may write them. */
export function isUsableTrigger({ kind, text }: Trigger, authority: Authority): boolean {
  if (kind !== 'glob' && kind !== 'regex') return true
  return authority === 'person' && (kind === 'glob' ? text.length <= LONGEST_PATTERN : isBounded(text))
}

/** Whether an event is what a trigger waits for. A pattern must match all of the text. */
export function matchesTrigger({ kind, text }: Trigger, event: string): boolean {
  switch (kind) {
    case 'glob':
      return event.length <= LONGEST_TEXT && matchesGlob(text, event)
    case 'regex':
      return event.length <= LONGEST_TEXT && isBounded(text) && new RegExp(`^(?:${text})$`, 'u').test(event)
    case 'question':
      return questionSkeleton(text) === questionSkeleton(event)
    default:
      return requestSkeleton(text) === requestSkeleton(event)
  }
}

/** Whether a regular expression ends soon on every text: no repetition of a group, no back reference or look-around, few repetitions. */
function isBounded(pattern: string): boolean {
  if (pattern.length > LONGEST_PATTERN || /\\[1-9k]|\(\?(?!:)|\)[*+?{]/.test(pattern)) return false
  const plain = pattern.replace(/\\./g, 'x').replace(/\[[^\]]*\]/g, 'x')
  if ((plain.match(/[*+?{]/g) ?? []).length - (plain.match(/\(\?:/g) ?? []).length > MOST_REPEATS) return false
  if ((plain.match(/\|/g) ?? []).length > MOST_CHOICES) return false
  try {
    new RegExp(pattern, 'u')
    return true
  } catch {
    return false
  }
}

/** `*` stands for anything, `?` for one character. One pass with one place to go back to: never more than text times pattern. */
function matchesGlob(pattern: string, text: string): boolean {
  let [at, star, from] = [0, -1, 0]
  for (let i = 0; i < text.length; ) {
    if (pattern[at] === '*') {
      star = at
      from = i
      at += 1
    } else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === text[i])) {
      at += 1
      i += 1
    } else if (star >= 0) {
      from += 1
      i = from
      at = star + 1
    } else return false
  }
  return /^\**$/.test(pattern.slice(at))
}

/**
 * A request without what differs from call to call and says nothing about it: numbers, hashes and the text of a message. Paths, names of
 * packages, hosts and quoted code stay: an answer to one says nothing about another.
 */
export function requestSkeleton(request: string): string {
  return request
    .normalize('NFKC')
    .replace(/(\s(?:-m|--message|--title|--body)[ =])('[^']*'|"[^"$`]*")/g, '$1"…"')
    .replace(/(?<=^|[\s=:#])(?:[0-9a-f]{7,40}|\d+)(?=$|[\s,;])/g, '#')
    .replace(/\s+/g, ' ')
    .trim()
}

/** A question without case, marks and numbers. */
function questionSkeleton(question: string): string {
  return question
    .normalize('NFKC')
    .toLowerCase()
    .replace(/\d+/g, '#')
    .replace(/[^\p{L}\p{N}#_./-]+/gu, ' ')
    .trim()
}
