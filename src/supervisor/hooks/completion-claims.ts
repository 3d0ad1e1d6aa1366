import { questionInProse } from '../../brain/rules/turn-ending.ts'
import { quotedLines } from '../session/quoted-lines.ts'
import { readSigils } from '../session/read-sigils.ts'

/** An agent says that what it was asked for is done. */
export interface CompletionClaim {
  /** `marker`: by a documented sign. `words`: in a sentence that leaves no doubt. */
  by: 'marker' | 'words'
  /** The line or sentence that says so. */
  quote: string
}

/**
 * Reads whether the last words of an agent say that its work is done. The markers count first: a line `TASK COMPLETE` or
 * `タスク完了`, and the sigils `<promise>COMPLETE</promise>` and `<task-done>` of its own task; a sigil for failure rules a claim
 * out. Then sentences count, in English and Japanese, if nothing near the end says that something is open. A claim that is
 * missed costs nothing: the agent stops as it would without us. A sentence that is taken for a claim by mistake costs a run
 * of the tests, and the agent is sent back although it only asked, so a doubtful one does not count. Pure.
 */
export function readCompletionClaim(
  text: string,
  { task }: { task?: string | undefined } = {},
): CompletionClaim | undefined {
  const end = text.slice(-LONGEST).replace(/\r\n?/g, '\n')
  const { sigils } = readSigils(end, { task })
  if (sigils.some(isFailure)) return undefined
  const lines = end.split('\n')
  const quoted = quotedLines(lines, () => true)
  const own = lines.map((line, at) => (quoted[at] === undefined ? line : ''))
  const marker = own.find(line => MARKER.test(line))
  if (marker !== undefined) return { by: 'marker', quote: marker.trim() }
  const sigil = sigils.find(isDone)
  if (sigil) return { by: 'marker', quote: sigil.kind === 'task-done' ? `task-done ${sigil.task}` : 'promise COMPLETE' }
  return findClaim(own, end)
}

/** More than the end of a report; a turn may be very long. */
const LONGEST = 8_000

const MARKER = /^ {0,3}(?:[#*_✅🎉]+ *)?(?:TASK[ _]COMPLETED?|タスク完了)(?:[*_✅🎉\s.!。！]*)$/u

type ReadSigil = ReturnType<typeof readSigils>['sigils'][number]

function isFailure(sigil: ReadSigil): boolean {
  return sigil.kind === 'task-failed' || (sigil.kind === 'promise' && sigil.promise === 'FAILURE')
}

function isDone(sigil: ReadSigil): sigil is Extract<ReadSigil, { kind: 'task-done' | 'promise' }> {
  return sigil.kind === 'task-done' || (sigil.kind === 'promise' && sigil.promise === 'COMPLETE')
}

function findClaim(own: readonly string[], text: string): CompletionClaim | undefined {
  if (questionInProse(text)) return undefined
  const sentences = own.flatMap(sentencesIn)
  // What is said long before the end may be about an earlier step.
  const last = sentences.slice(-MOST_SENTENCES)
  if (last.some(({ text: sentence, isItem }) => isOpen(sentence, isItem))) return undefined
  const claim = last.find(({ text: sentence }) => isClaim(sentence))
  return claim && { by: 'words', quote: claim.text.slice(0, LONGEST_QUOTE) }
}

const MOST_SENTENCES = 40
const LONGEST_QUOTE = 200

interface Sentence {
  text: string
  isItem: boolean
}

/** The sentences of a line in the agent's own words: code and quotations in it say nothing. */
function sentencesIn(line: string): Sentence[] {
  if (/^\s*\||^(?: {4}|\t)(?!\s*(?:[-*+•]|\d+[.)])\s)/.test(line)) return [] // a table, code
  const isItem = /^\s*(?:[-*+•]|\d{1,2}[.)])\s/.test(line)
  const isOpenBox = /^\s*[-*+]\s+\[ \]/.test(line)
  const plain = line
    .replace(/^\s*(?:#{1,6}\s+|[-*+•]\s+|\d{1,2}[.)]\s+)?(?:\[[ xX]\]\s+)?/, '')
    .replace(/`[^`]*`/g, '⟨code⟩')
    .replace(/[“"„«「『][^"”“»」』]{0,300}["”“»」』]/g, '⟨quote⟩')
    .replace(/(?<![\p{L}\p{N}])'[^']{2,200}'(?![\p{L}\p{N}])/gu, '⟨quote⟩')
    .replace(/[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}/g, '')
    .replace(/’/g, "'")
  if (isOpenBox) return [{ text: 'remaining', isItem }]
  return plain
    .split(/(?<=[^\d\s][.!?…])\s+|(?<=[。！？])|\s+[–—]\s+/u)
    .map(text => text.replace(/^[\s✅🎉✔✓:,-]+/u, '').trim())
    .filter(text => text !== '')
    .map(text => ({ text, isItem }))
}

function isClaim(sentence: string): boolean {
  return JAPANESE.test(sentence)
    ? CLAIMS_JA.test(sentence) && !DOUBTS_JA.test(sentence)
    : CLAIMS.test(sentence) && !DOUBTS.test(sentence)
}

/** Whether a sentence says that work is left, that something failed, or what comes next. A list of what was done may name errors. */
function isOpen(sentence: string, isItem: boolean): boolean {
  if (JAPANESE.test(sentence)) return OPEN_JA.test(sentence)
  return OPEN.test(sentence) || (!isItem && FAILED.test(sentence))
}

const JAPANESE = /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u

const words = (text: string) => text.trim().split('\n').join('|')

/** What an agent was asked for, as it calls it itself. */
const WORK =
  '(?:tasks?|work|implementation|feature|features|changes|fix|bug|issue|refactor|refactoring|migration|request|job|assignment|project|upgrade|rewrite)'
const ENDED = '(?:done|complete|completed|finished)'
const REACHED = `(?:${ENDED}|implemented|in place|fixed|resolved)`

const CLAIMS = new RegExp(
  words(String.raw`
^(?:it's |that's |and |ok,? |okay,? |we're |i'm )?(?:all |now )*(?:done|finished)(?: now)?[.!]*$
^(?:all |everything )(?:is )?(?:done|finished|complete|completed|set)[.!]*$
^(?:the |this |your )?(?:\w+[ -]){0,3}${WORK} (?:is |are |has been |have been )?(?:now )?(?:fully |all |successfully )?${ENDED}(?: now| successfully)?[.!:]*$
^(?:all (?:of )?)?(?:the |this |your |these )(?:requested )?(?:\w+[ -]){0,3}${WORK} (?:is|are|has been|have been) (?:now |all |fully |successfully )*${REACHED}\b
^all (?:of )?(?:the |your )?(?:requested )?(?:\w+ )?(?:tasks|changes|items|requirements|acceptance criteria|points) (?:are|have been) (?:now |all |fully |successfully )*(?:${REACHED}|met)\b
^everything (?:you (?:asked for|requested|wanted) |(?:in|on) the (?:list|plan|task) |from the (?:list|plan|task) )?(?:is|has been) (?:now |fully |successfully )*(?:${REACHED}|built)\b
^i(?:'ve| have)? (?:now |also |successfully |fully )*(?:completed|finished) (?:all (?:of )?)?(?:the |this |your |everything)
^i(?:'ve| have) (?:now |successfully |fully )*(?:implemented|fixed|done) (?:everything|all (?:of )?(?:the |your )|the (?:requested |whole |entire |full )?${WORK}|what you (?:asked for|requested|wanted))\b`),
  'i',
)

/** In the same sentence: a denial, a condition, a plan, a part, hearsay. */
const DOUBTS = new RegExp(
  words(String.raw`
\?|\b(?:not|never|no|nothing|isn't|aren't|wasn't|haven't|hasn't|won't|can't|cannot|couldn't|without)\b
\b(?:if|when|whenever|once|after|until|till|before|unless|as soon as|assuming|provided|by the time|in case)\b
\b(?:will|would|should|could|might|may|must|shall|i'll|we'll|it'll|going to|to be|want|plan|need|needs|hope|expect|goal|aim)\b
\b(?:first|second|third|part|parts|partly|partially|half|most|mostly|almost|nearly|some|several|one of|two of|step|steps|phase|stage|so far|up to|except|apart from|other than|but|however|though|although|besides|only|\d{1,2} ?%|\d+ (?:of|out of|\/) \d+|\d+\/\d+)\b
\b(?:says?|said|claims?|claimed|reports?|reported|according|marked|marks|mark|states?|stated|means?|defined?|whether|that the|think|believe|seems?|appears?|probably|likely|looks|every (?:\w+)|each|always|usually)\b`),
  'i',
)

/** Anywhere near the end: work that is left, or that comes next. */
const OPEN = new RegExp(
  words(String.raw`
\b(?:remaining|remains|still (?:to|need|needs|have|has|missing|open|pending|left|fail|fails|failing|in progress|running|broken|not)|not yet|yet to|to-?dos?|left to do|is left|are left|outstanding|unfinished|incomplete|in progress|work in progress|wip|pending|unresolved|follow-?ups? needed)\b
\b(?:next|now|then),? (?:i'll|i will|i'm going|i am going|we'll|let me|let's|comes?|up|i need|i have to)\b|\bnext (?:step|steps|up|is|are|task|part|phase)\b|^next[,:]|\bi(?:'ll| will| need to| have to|'m going to| am going to) (?:now |next |then |also )?(?!be (?:happy|glad)|leave|stop)\w+
\b(?:moving on|continuing with|let me (?!know)|before i can|waiting for|wait for|once you|as soon as you|i'm blocked|i am blocked|blocked by|please (?:confirm|approve|decide|choose|clarify|provide|tell))\b
\b(?:haven't|hasn't|have not|has not|didn't|did not|not) (?:been )?(?:\w+ )?(?:done|complete|completed|finished|implemented|tested|verified|run|started|fixed)\b`),
  'i',
)

const FAILED =
  /\b(?:fails?|failing|failed to|could(?:n't| not)|was(?:n't| not) able|unable to|can(?:'t|not| not)|gave up|skipped|stub|placeholder|(?:does|do)(?:n't| not) (?:work|pass|compile|build))\b/i

const CLAIMS_JA = new RegExp(
  words(String.raw`
(?:タスク|作業|実装|修正|変更|対応|移行|開発|改修|リファクタリング|依頼|ご依頼|すべて|全て|全部|追加|作成)[^。！、]{0,24}(?:完了|終了|完成)(?:しました|いたしました|致しました|しています|しております|です|でございます)(?:[。！!\s]|$)
^(?:これで|以上で|すべて|全て|無事(?:に)?|、|\s){0,4}(?:完了|終了|完成)(?:しました|いたしました|致しました|です)[。！!\s]*$
(?:タスク|作業|実装|修正|変更|対応|すべて|全て|全部)[^。！、]{0,16}(?:終わりました|仕上がりました|済みました)(?:[。！!\s]|$)
^(?:タスク|作業|実装|修正|対応)完了[。！!\s]*$`),
  'u',
)

const DOUBTS_JA =
  /(?:ません|ない|なかった|未(?:完了|完成|実装|対応|着手)|まだ|途中|一部|部分|前半|後半|半分|最初|第[一二三0-9]|ステップ|フェーズ|ほぼ|ほとんど|概ね|おおむね|予定|つもり|これから|次(?:に|は|の)|たら|れば|場合|なら|とき|時に|後に|次第|まで|前に|以外|ただし|しかし|ですが|ましたが|けど|か[。？?\s]*$|？|\?|でしょう|かもしれ|と思|そうです|らしい|とのこと|と(?:書|記|言)|という|[0-9０-９]+\s*[%％]|[0-9０-９]+\s*(?:件|個|つ)(?:目|中))/u

const OPEN_JA =
  /(?:まだ|残り(?:の|は|が)|残って|残タスク|未(?:完了|完成|実装|対応|着手|解決|確認|検証)|途中|これから|引き続き|続いて|次(?:に|は)[^。]{0,40}(?:ます|ください|予定)|次のステップ|予定です|進めます|始めます|着手します|取り掛かり|待ち(?:です|の)|お待ち|(?<!あれば、?)(?:教えて|お知らせ)ください|失敗し|できませんでした|できていません|していません|しておりません|ていない|でしょうか|ますか|ましょうか|ですか)/u
