import type { AskingKind } from './asking-kind.ts'

/** What a sentence in another language asks of its reader: the few turns of phrase with which one offers to go on. */
export function asksElsewhere(sentence: string): AskingKind | undefined {
  const text = sentence.normalize('NFC').toLowerCase()
  if (COURTESY.test(text)) return undefined
  if (WHICH.test(text)) return 'choice'
  if (LEAVE.test(text)) return OR.test(text) ? 'choice' : 'proceed'
  return WHAT.test(text) ? 'other' : undefined
}

const phrases = (text: string) => new RegExp(text.trim().split('\n').join('|'), 'u')

const LEAVE = phrases(String.raw`
\bsoll(en|te|ten)? (ich|wir)\b.*\?|(möchtest|willst) du,? dass ich.*\?|(möchten|wollen) sie,? dass ich.*\?|\bdarf ich\b.*\?|\bkann ich\b.*(weitermachen|fortfahren|beginnen|anfangen|loslegen|starten)\?|bist du (damit )?einverstanden|sind sie (damit )?einverstanden|\bwarte (ich )?auf (deine|ihre)
(voulez-vous|veux-tu|souhaitez-vous|souhaites-tu|aimeriez-vous) que je.*\?|\b(dois|puis)-je\b.*\?|est-ce que je (dois|peux).*\?|j'attends (votre|ton)
¿?(quieres|quiere|deseas|te gustaría|le gustaría) que.*\?|¿(debo|debería|puedo|procedo|continúo|sigo)\b.*\?|\b(quer|gostaria|deseja) que eu\b.*\?|\b(devo|posso) (continuar|prosseguir|seguir|começar|avançar)\b.*\?
\b(vuoi|vuole|desideri) che\b.*\?|\b(devo|posso) (continuare|procedere|iniziare|proseguire)\b.*\?|\b(zal|moet|mag) ik\b.*\?|\bwil je dat ik\b.*\?|\bska jag\b.*\?|\bvill du att jag\b.*\?|\bskal jeg\b.*\?|\bvil du (have|at|ha) \w*.*\?|\bczy (mam|mogę)\b.*\?|\bmám (pokračovat|začít)\b.*\?
(devam edeyim|başlayayım|yapayım|ister misin)( mi)?.*\?|(?<!\p{L})(мне|можно|стоит ли|следует ли)( \p{L}+)? (продолж|нач|приступ|сдел).*\?|(?<!\p{L})(продолжать|продолжить|приступать|начинать)\s*\?|хотите(, | )чтобы я
(需要我|要我|要不要|是否(需要|可以|要)?|我可以|可以).{0,30}(继续|開始|开始|繼續|执行|进行|吗|嗎)\s*[?？]|(继续|繼續|开始)(吗|嗎)[?？]?|(よろしいでしょうか|よろしいですか|いいですか|しましょうか|進めますか|続けますか)[。?？]?|(할까요|될까요|괜찮을까요|진행해도|원하시나요)[?？.]?`)

const WHICH = phrases(String.raw`
\b(welche[rsnm]?|was) .*\b(bevorzug|soll ich|möchtest du|möchten sie|willst du)\b.*\?|\b(préférez-vous|préfères-tu)\b|\b(prefieres|prefiere|preferisci|prefere)\b.*\?|\b(oder)\b.*\bsoll ich\b|(どちら|どれ)(が|に|を|の).*(か|？|\?)|哪(个|一个|种|個|一種).*[?？]|어느 (것|쪽).*\?|какой (вариант|из).*\?`)

const WHAT = phrases(String.raw`
\bwie soll(en)? (ich|wir)\b.*\?|\bwo soll(en)? (ich|wir)\b.*\?|\b(quels?|quelles?|comment|où) .*(souhaitez|voulez|dois-je|veux-tu).*\?|¿(cómo|dónde|qué|cuál) .*(debo|quieres|quiere|desea|prefieres).*\?|\b(come|dove|quale) .*(devo|vuoi|preferisci).*\?|(怎么|如何|怎样).*(处理|继续|做).*[?？]|(どのように|どう).*(しますか|でしょうか|ますか)|как мне .*\?`)

const OR = /\b(oder|ou|oppure|of|eller|lub|czy .* czy|veya)\b|(?<!\p{L})или(?!\p{L})|还是|還是|それとも|아니면/u

/** "If you need anything else …" in other words. */
const COURTESY =
  /noch etwas|weitere fragen|sonst noch|autre chose|d'autres questions|algo más|más preguntas|altro\b|mais alguma|mais ayuda|他に(何か)?|还有(什么|其他)|其他问题|더 필요|추가로|что-то ещё|ещё вопрос|saber mais|details sehen|saperne di più/u
