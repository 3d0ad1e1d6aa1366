import { foldText } from './grave.ts'

/** What an agent wants: `proceed`, permission to go on; `choice`, one of several; `other`, something that only somebody else knows. */
export type AskingKind = 'proceed' | 'choice' | 'other'

/** What a sentence asks of its reader, if anything; `last` means that only courtesies follow. */
export function askingKind(sentence: string, { last }: { last: boolean }): AskingKind | undefined {
  const text = foldText(sentence)
  if (POLITE.test(text) || REPORTED.test(text)) return undefined
  if (SAYS_IT_WAITS.test(text)) return kindOf(text)
  if (!/[?？]\W*$/.test(text)) return last ? askingKindInOtherLanguages(sentence) : undefined
  if (ASKS.test(text) || (last && ASKS_LAST.test(text))) return kindOf(text)
  return askingKindInOtherLanguages(sentence)
}

/** Whether a sentence is a courtesy that asks for nothing and may follow a question. */
export function isPolite(sentence: string): boolean {
  return POLITE.test(foldText(sentence))
}

/** Whether a sentence says that the agent waits for an answer. */
export function isWaitingForAnswer(sentence: string): boolean {
  return SAYS_IT_WAITS.test(foldText(sentence))
}

function kindOf(text: string): AskingKind {
  if (/^how\b/.test(text)) return 'other'
  if (CHOOSES.test(text)) return 'choice'
  return WANTS_LEAVE.test(text) ? 'proceed' : 'other'
}

/** What a sentence in another language asks: only a few phrases that offer to go on are known. */
function askingKindInOtherLanguages(sentence: string): AskingKind | undefined {
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

/** "If you need anything else …" in other languages. */
const COURTESY =
  /noch etwas|weitere fragen|sonst noch|autre chose|d'autres questions|algo más|más preguntas|altro\b|mais alguma|mais ayuda|他に(何か)?|还有(什么|其他)|其他问题|더 필요|추가로|что-то ещё|ещё вопрос|saber mais|details sehen|saperne di più/u

// Below: how an agent asks at the end of its turn, as alternatives of regular expressions over folded text, a handful per line.

const lines = (text: string) => text.trim().split('\n').join('|')
const anyPhrase = (text: string) => new RegExp(lines(text))

/** Sentences with a question mark that ask the reader. */
const ASKS = anyPhrase(String.raw`
\b(should|shall|may|can|could|do|must|might) (i|we)\b(?! (have|say|not have)\b)|\b(want|like|prefer|need|ok for|fine for|happy for|wish) (me|us) to\b
\b(do|would|could|can|will|did) you\b|\bdo (i|we) have (your|permission|approval|a go)|\bare you (ok|okay|happy|fine|sure|ready|comfortable|good)\b|\bwould (it|this|that) be (ok|okay|fine|alright|acceptable|better)\b
\bis (it|that|this)( \w+){0,2} (ok|okay|fine|alright|acceptable|correct|right|good)\b|\b(does|do|is) (this|that|the|these|my|it)( [\w-]+){0,5} (look|sound|seem|work|match|align|fit|make sense)
^(ok|okay|ready|good|clear|safe|fine) to\b|^(ok|okay|please)?,? ?(proceed|continue|go ahead|approve|confirm|agreed?)\b.{0,80}\?|^(sounds?|looks?) (good|right|ok|okay|fine)|\b(shall|may) (i|we)\?
^(so,? |and |also,? |first,? |finally,? |before .{3,60}[,:] ?)?(which|what|where|how|when|who)\b.*\b(should|shall)\b|^any (preference|objection|thoughts on|concerns)|^(thoughts|objections|preference|agreed)\?
\bif (i|we) (go|went|start|change|use|add|rename|install|move|do)\b.*\?|^(want|like) me to\b|^mind if\b|\b(what|which)('s| is| are) (your|the) (preference|preferred|expected|desired|intended|correct|right)\b`)

/** Sentences that ask only when they come last: elsewhere people use them in explanations. */
const ASKS_LAST = anyPhrase(String.raw`
^(so,? |and |also,? |before .{3,60}[,:] ?)?(should|shall|must|can|may|does|do|is|are|will|would) (the|it|this|that|these|there|they|new|all|both|users?)\b
^(before .{3,60}[,:] ?|so,? )?([\w.+#⟨⟩()'-]+ ){1,7}or ([\w.+#⟨⟩()'-]+ ?){1,7}\?$|^(so,? |but |and )?(which|what|where|how) (\w+ )?(one|version|name|format|branch|file|option|approach|value|port|directory|framework|library)\b`)

/** Sentences without a question mark that say that the agent waits for a reply. */
const SAYS_IT_WAITS = anyPhrase(String.raw`
\b(i'll|i will|i am|i'm|we'll|i can|i'd rather|going to|let me) (now |just |then )?(wait|waiting|hold|holding|pause|paused|stop|stopped|stopping|stand by|standing by)\b.{0,40}\b(for|until|on|till) (you|your|a (go|green|decision|confirmation)|the (go|green|user)|confirmation|approval|feedback|input)\b
^(i'm |i am |currently |now )?(awaiting|waiting (for|on)|pending) (your|the user|confirmation|approval|a (decision|go)|further instruction)|^(please |kindly |could you please )(confirm|advise|choose|pick|select|specify|clarify|decide|provide|tell me|approve|indicate|share|supply|answer|respond|reply|give me|let me know (which|how you|how i|whether|what you(?! think)|where|if i (should|can|may)|if you approve|if you agree))\b
\b(before i|so (that )?i can|in order to|to) (proceed|continue|start|begin|go on|can|do (that|this|so)|implement|move|finish)\b.{0,60}\b(i need|i'd need|i require|please|i'd like|i would need|you need to)\b|\bi (still |first |will |'ll |would |'d )?(need|require)( \w+){0,2} (your|you to|more (information|info|context|details?|input)|to know|clarification|a decision|confirmation|approval|permission|access|some (input|information|clarification|guidance)|the following (information|details|input))\b
let me know (which(?! of these helped)|whether|where|how (you'd|you would|i should|to (proceed|continue|handle))|what (you'd|you would|i should)|when (i|you're ready|you are ready|to)|your (choice|preference|decision|answer|pick|call))|let me know,? and i('ll| will| can)
let me know if (i|we) (should|can|may|could)\b|let me know if (you (approve|agree|confirm|are (ok|okay|happy|fine) with)|you're (ok|okay|happy|fine) with|(this|that|the|it)( \w+){0,3} (sounds?|works?|looks?|seems?|suits|(is|are) (ok|okay|fine|acceptable|right|correct|what|how))\b(?!( \w+)? (unclear|wrong|broken|off|missing|not|better)))
let me know if (you'd|you would|you)( like| want| prefer)? (me|us) to (proceed|continue|go ahead|go on|start|begin|implement|apply|run|do (it|this|that|so)|build|keep going|move (on|forward|ahead)|make (this|these|the|those)|take (this|that|the)|execute|fix (it|this|that|these|those|them))\b
\btell me (which|whether|if (i|we) (should|can|may)|if you (want|'d like)|where|how (you|i|to)|what (you want|you'd|to|i should))\b|\bsay the word\b|\b(give|gives) (me|us) (the|a|your) (go|green|ok|thumbs|approval|nod)|\b(once|as soon as|when|after) (you('ve| have)?|i have|i get|i hear|i've)( \w+){0,3} (confirm|approv|decid|cho(o|i|se)|answer|pick|select|green|go-ahead|respond|repl|tell|provid|agree|said|permission|decision|input|clarif)\w*.{0,60}\b(i'll|i can|i will|we can|i'm)|\b(i can|i'll|i will|ready to) (\w+ ){1,4}(once|as soon as|when) you('ve| have)?( \w+)? (confirm|approv|decid|cho(o|i|se)|answer|pick|agree|give|tell|say|let)
\b(reply|respond|answer|type|say|write)( with| back)? (⟨quote⟩|⟨code⟩|yes|ok|go|continue|proceed|approve).{0,20}\b(to|and|if|so|or)\b|\bi (have|had|'ve got|'ve)( \w+){0,3} questions?\b.{0,40}\b(before|first|for you|about|that|:)|^questions?( for you)?( before .{0,40})?:?$
\byour (approval|confirmation|input|decision|permission|go-ahead|call|answer) (is |are )?(needed|required|necessary|before)|\b(need|needs|want|requires|awaits) your (approval|confirmation|input|decision|permission|go-ahead|ok|answer|call|help|review before)|\bi('m| am) (blocked|stuck)\b.{0,80}\b(until|unless|without) (you|your|i)
^(it's |that's |this is )?(up to you|your call)\b|^if (you (agree|approve|confirm|say yes|are (ok|okay|happy|fine))|you're (ok|okay|happy|fine)|(that|this|it|the plan)('s| is)? ?(sounds?|works?|looks?|ok|okay|fine|acceptable|suits)).{0,80}\b(i'll|i will|i can|let me know)|\bhow (you'd|you would) like (me )?to (proceed|continue|handle|go)\b|\bwhich (one )?you('d| would)? (prefer|like|want)\b.{0,30}(and|so|then) i|\bi (won't|will not|haven't|have not) .{0,80}(until|unless|before|without) (you|your)\b`)

/** Courtesies at the end of a report. They end with a question mark or with "let me know", but nobody waits for an answer. */
const POLITE = anyPhrase(String.raw`
\b(anything|something|everything|nothing) (else|further|more|other|is unclear)\b|\b(any|more|further|other) (questions|issues|problems|feedback|adjustments|changes|tweaks|improvements|comments|suggestions)\b(?!.{0,20}before i)
\b(explain|walk you through|elaborate|go into|clarify any|see (the|more)|more detail|dive deeper|know more)\b.*\?|\bwhat('s| is| would you like| do you want| should we| shall we| can i)?( to| me to)?( \w+){0,3} next\?|^what('s| is) next
\bdoes (that|this|it) (all )?make sense\?|\bhow (does that sound|can i help|may i help|else can i)|^(need|want|wondering|curious|interested|looking for|confused)\b(?! me to)|\bshall we say\b|\b(should|could|can|might) (i|we|this|it) have\b|\bhave (been|i|we)\b.*\?$
let me know (if|should|in case) (you('d| would)?|there|something|anything|it|the tests?|they)( \w+){0,2} (need|have|run into|encounter|find|see|notice|like (any|some|further|more|other|additional|a different|something|anything|to see|me to (adjust|change|tweak|extend|explain|expand|refine|modify|elaborate|revise|rephrase|also))|want (any|some|further|more|other|to|a different|something|anything|me to (adjust|change|tweak|extend|explain|expand|refine|modify|elaborate|revise))|pass|fail|wish|spot|hit|prefer (a|another|something)|is|are)\b
let me know (what you think|how it goes|how (that|this) (goes|works|looks)|once you('ve| have)|when you('ve| have)|your thoughts)|tell me what you think|^(feel free|don't hesitate|do not hesitate|happy to|glad to|i'd be happy|i'm happy to|i am happy to|hope this|i hope|enjoy|thank|cheers|good luck|hit me up|reach out)\b
^if (you|there|anything|something|needed|necessary)\b.{0,80}\b(i can|i could|just ask|happy to|i'm happy|i'd be happy|let me know|feel free|see)\b(?!.{0,10} and i('ll| will))|\b(want|like) to (know|learn|read|hear|see)\b|^if (something|anything|you (spot|find|notice|see|hit|run))\b|^do let me know should|^any feedback|^take a look\b`)

/** Reported questions of something else: a dialog, a prompt, a list of questions and answers. */
const REPORTED = anyPhrase(String.raw`
^q\d*[:.)] |\b(prompt|text|message|title|label|dialog|sample|example|greets?|headline|caption|placeholder|output|prints?|shows?|displays?|reads|begins|ends)\b[^?:]{0,40}: ?\S`)

/** Marks of a choice between named things. */
const CHOOSES = anyPhrase(String.raw`
\bor (?!not\b|so\b|something|similar|later|tell me|wait|stop)|\bwhich (of|one|option|approach|would|should|do you|way|variant|solution|layout|library|strategy|database|you)\b|\b(prefer|choose|pick|select|versus|vs)\b|\beither\b`)

/** Marks of asking for permission to go on. */
const WANTS_LEAVE = anyPhrase(String.raw`
^(?!.*\b(which|what|where|how (?!about)|who|when should)\b.*\?).*\b((whether|if) (i|we) (should|can|may)\b|(should|shall|may|can|could) (i|we)\b|(want|like|prefer|need|happy for|ok for|fine for) (me|us) to\b|if (i|we)\b)
\b(ok|okay|ready|good|fine|safe|alright|acceptable) (to|if|for me|with)\b|\bis (it|that|this) (ok|okay|fine|alright|acceptable|correct|right)\b|\b(proceed|continue|go ahead|go-ahead|green light|approv\w*|permission|say the word|begin|start|get started|confirm(?! (the|your|what|which|how)\b))|\b(look|sound|work|seem)s? (good|right|ok|okay|fine|for you|reasonable)`)
