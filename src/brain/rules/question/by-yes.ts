import type { QuestionItem } from '../../../domain/session.ts'
import { isAboutCode, isCodeVerb, reachesOutside } from './about-code.ts'
import { affirmative } from './affirmative.ts'
import type { Thought } from './thought.ts'
import { GOES_ON, GOES_ON_ALONE, LEAVE_FOR, POINTS_AT, STANDARD, STANDARD_IF_CODE } from './yes-phrases.ts'

/**
 * Yes to going on, and yes to the standard steps of the work. A list of what is bad has no end, so what is agreed to must be
 * known to be good: nothing but going on, or something made of code in the project. Never anything beyond the working copy,
 * never one of two things, never what cannot be read for certain. That nothing grave is agreed to is seen to by who asks.
 */
export function byYes(item: QuestionItem): Thought | undefined {
  const text = item.question.trim()
  if (text.length > LONGEST || !READABLE.test(text) || !isYesOrNo(text)) return undefined
  const answer = affirmative(item)
  if (answer === undefined) return undefined
  const chosen = item.options.filter(({ label }) => [answer].flat().includes(label))
  const said = [item.header, text, ...chosen.flatMap(({ label, description }) => [label, description])].join('\n')
  if (reachesOutside(said) || !codeIsPlain(said)) return undefined
  if (goesOn(text)) return { answer, confidence: 0.85, reasoning: 'it asks whether to go on' }
  if (isStandard(text)) return { answer, confidence: 0.75, reasoning: 'it asks for a standard step of the work' }
  return undefined
}

const LONGEST = 600
/** Latin letters without accents, signs and pictures: what is written otherwise may mean what no list here knows. */
const READABLE = /^(?:[\x20-\x7e\n\t]|[‘’“”–—…•→✓✅]|\p{Extended_Pictographic}|\ufe0f)*$/u

/** Going on with nothing named, with what was planned, or with work on code. */
function goesOn(text: string): boolean {
  if (GOES_ON_ALONE.test(text)) return true
  const object = behind(GOES_ON, text)
  if (object === undefined) return false
  if (object === '' || POINTS_AT.test(object)) return true
  const [, link = '', rest = ''] = /^(and|to|by|with|on)?\s*(?:also |then |now )?(.*)$/is.exec(object) ?? []
  const [deed = '', ...more] = rest.split(LINKS)
  const verb = /^[a-z]+/i.exec(deed)?.[0] ?? ''
  const isDeed = /^(?:and|to|by)$/i.test(link) || /ing$/i.test(verb)
  return isKnown(deed) && (!isDeed || isCodeVerb(verb)) && more.every(isKnown)
}

function isStandard(text: string): boolean {
  const [deed = '', ...more] = (behind(LEAVE_FOR, text) ?? '').split(LINKS)
  const known = STANDARD.test(deed) || (STANDARD_IF_CODE.test(deed) && isAboutCode(deed))
  return known && more.every(isKnown)
}

/** What stands behind the leave that is asked for, without the question mark. */
function behind(leave: RegExp, text: string): string | undefined {
  const found = leave.exec(text)
  return found
    ? text
        .slice(found.index + found[0].length)
        .replace(/[?!.\s]+$/, '')
        .trim()
    : undefined
}

/** Where something else may come in behind something good: "run the tests *and* …", "*on* the shop", "*that* bills the team". */
const LINKS =
  /[,;:()]|\s(?:and|then|that|which|by|while|before|after|on|onto|into|to|over|against|out of|with|via|using)\s/i

function isKnown(part: string): boolean {
  const text = part.trim()
  return text === '' || POINTS_AT.test(text) || isAboutCode(text) || GOES_WITHOUT_SAYING.test(text)
}

const GOES_WITHOUT_SAYING =
  /^(?:(?:i|we) (?:continue|proceed|go on|start|commit|finish|move on)|`[\w.]+`(?: everywhere)?|\w*[a-z][A-Z]\w*(?: everywhere)?|so on|the (?:project|repo|repository))$/

/** One question, and not a choice: "proceed or wait?", "A or B?", "which …?". */
function isYesOrNo(text: string): boolean {
  if ((text.match(/\?/g) ?? []).length > 1) return false
  const asked = text.split(/(?<=[.!:])\s+|\n/).at(-1) ?? text
  return !/\b(or(?! not\b| so\b)|which|versus|vs|either|how|what|where|who|why)\b/i.test(asked)
}

/** What stands in backticks is a name, a path, or a command that only looks or tests. */
function codeIsPlain(text: string): boolean {
  return [...text.matchAll(/`+([^`]*)`+/g)].every(([, code = '']) => PLAIN_CODE.test(code.trim()))
}

const PLAIN_CODE =
  /^(?:[\w@./#:()<>[\]-]*|(?:npm|pnpm|yarn|bun) (?:run )?(?:test|lint|build|typecheck|check|format|install|ci)|npx tsc(?: --noEmit)?|tsc(?: -p \.)?|pytest(?: -q)?|cargo (?:test|check|clippy|fmt|build)|go (?:test|vet|build)(?: \.\/\.\.\.)?|make (?:test|lint|check)|git (?:status|diff|log|add|commit))$/
