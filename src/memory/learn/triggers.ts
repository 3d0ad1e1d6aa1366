import { messageOf } from '../../base/errors.ts'
import type { Authority, Trigger } from '../../domain/memory.ts'

/** More is not compared. It also bounds how long a regular expression of a person can take. */
const LONGEST_TEXT = 300
const LONGEST_PATTERN = 200
/** Each repetition multiplies the steps of a search by the length of the text, each alternative by two. */
const MOST_REPEATS = 3
const MOST_CHOICES = 6
/** More lines of a text are not compared with patterns. */
const MOST_LINES = 40

/** Whether a trigger may make an item: patterns match more than was seen, so that only people may write them. */
export function isUsableTrigger(trigger: Trigger, authority: Authority): boolean {
  return !isPattern(trigger) || (authority === 'person' && findFault(trigger) === undefined)
}

/** Whether a person wrote when something is meant. */
export function isPattern({ kind }: Trigger): boolean {
  return kind === 'glob' || kind === 'regex'
}

/** Whether a line of a text, in whatever case, is what a pattern waits for. */
export function matchesLine(trigger: Trigger, text: string): boolean {
  const lines = text.split('\n').map(line => line.trim().toLowerCase())
  const lower = trigger.kind === 'glob' ? { ...trigger, text: trigger.text.toLowerCase() } : trigger
  return lines.slice(0, MOST_LINES).some(line => line !== '' && matchesTrigger(lower, line, 'iu'))
}

/** Whether an event is what a trigger waits for. A pattern must match all of the text. */
export function matchesTrigger({ kind, text }: Trigger, event: string, flags = 'u'): boolean {
  switch (kind) {
    case 'glob':
      return event.length <= LONGEST_TEXT && matchesGlob(text, event)
    case 'regex':
      if (event.length > LONGEST_TEXT || findFault({ kind, text }) !== undefined) return false
      return new RegExp(`^(?:${text})$`, flags).test(event)
    case 'question':
      return questionSkeleton(text) === questionSkeleton(event)
    default:
      return requestSkeleton(text) === requestSkeleton(event)
  }
}

/**
 * What is wrong with a pattern; undefined if it can be used. A regular expression ends soon on every text: it repeats no group, refers to nothing
 * and looks nowhere else, and repeats and chooses seldom.
 */
export function findFault({ kind, text }: Trigger): string | undefined {
  if (text.trim() === '') return 'it is empty'
  if (text.length > LONGEST_PATTERN) return `it is longer than ${LONGEST_PATTERN} characters`
  if (kind !== 'regex') return undefined
  try {
    new RegExp(text, 'u')
  } catch (error) {
    return messageOf(error)
  }
  const escapes = text.match(/\\(?:[pPu]\{[^}]*\}|.)/g) ?? []
  const plain = text.replace(/\\(?:[pPu]\{[^}]*\}|.)/g, 'x').replace(/\[[^\]]*\]/g, 'x')
  if (escapes.some(each => /^\\[1-9k]/.test(each)))
    return 'it refers back to a part of itself (\\1, \\k), which can take for ever'
  if (/\(\?(?!:)/.test(plain)) return 'it looks ahead, behind, or names a group ((?…); only (?:…) can be used'
  if (/\)[*+?{]/.test(plain)) return 'it repeats a group ((…)*, (…)+, (…)?, (…){n}), which can take for ever'
  const repeats = plain.replaceAll('(?:', '(').match(/[*+?{]/g)?.length ?? 0
  if (repeats > MOST_REPEATS) return `it repeats ${repeats} times (* + ? {}); ${MOST_REPEATS} are the most`
  const choices = plain.match(/\|/g)?.length ?? 0
  const most = repeats === MOST_REPEATS ? 0 : MOST_CHOICES
  if (choices > most) return `it has ${choices} alternatives (|); with so many repetitions ${most} are the most`
  return undefined
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
