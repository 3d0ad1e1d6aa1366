import type { QuestionItem } from '../../domain/session.ts'

/**
 * Why a machine must not give this answer, or undefined. For a question that asks whether to act, all its words count; for a
 * choice ("what should the delete button say?") only the action counts. The chosen text always counts. A refusal is never
 * grave.
 */
export function explainGraveAnswer(question: QuestionItem, answer: readonly string[]): string | undefined {
  if (answer.every(isRefusal)) return undefined
  const text = asksWhetherToAct(question, answer)
    ? `${question.header} ${question.question}`
    : readActions(question.question)
  const chosen = question.options.filter(option => answer.includes(option.label)).map(option => option.description)
  return findGraveWords(text) ?? findGraveWords([...answer, ...chosen].join('\n'))
}

/** "No", "Keep it", "Don't delete anything": nothing grave is left without the refused part. */
function isRefusal(answer: string): boolean {
  const text = foldText(answer)
  if (!REFUSES.test(text) || GRANTS.test(text)) return false
  return findGraveWords(text.replace(REFUSED, ' ')) === undefined
}

const REFUSES = /^(no|nope|don't|do not|keep|leave|skip|cancel|stop|abort|not|never|neither|none|wait|hold)\b/
const GRANTS =
  /^no (problem|worr|objection|doubt|need|issue|reason|matter)|\b(but|instead|just|except|unless|go ahead|yes)\b/
const REFUSED = /^(cancel|abort|stop|skip)( it| this| that)?$|\b(don't|do not|never|not|without) [^,.;]*/g

function asksWhetherToAct({ question, options }: QuestionItem, answer: readonly string[]): boolean {
  if (
    answer.some(text =>
      /^(y|yes|yeah|yep|ok|okay|sure|proceed|go ahead|continue|approve|confirm|do it)\b/i.test(text.trim()),
    )
  )
    return true
  if (options.length > 0 && options.some(({ label }) => /^(yes|no)\b/i.test(label.trim()))) return true
  return !/^\W*(which|what|where|how|who|when|why)\b/i.test(question)
}

/** The actions in a question: the words after "should I", "want me to", "let me"; or a secret that it names, whatever the action. */
function readActions(question: string): string {
  const parts = question.split(ACTORS)
  const secret = /\b(?:secret|credential|private key|api key)s?\b/i.exec(question)?.[0]
  if (secret !== undefined) return secret
  if (parts.length > 1) return parts.slice(1).join('\n')
  return /\b(should|would|do|does|is|are|will|can)\b/i.test(question) ? '' : question
}

const ACTORS =
  /\b(?:(?:should|shall|can|may|could|must|will|would) (?:i|we)|me to|us to|let me|let's|i'll|i will|we'll|going to|need to|have to|about to|want to)\b/i

/**
 * All readings that a disguised text may have, in lower case and without accents. A word can be hidden from a pattern
 * (look-alike letters, invisible characters, d.r.o.p, de-lete, dr0p, deleteAllUsers), so the patterns are tried on all
 * readings.
 */
export function normalizedReadings(text: string): string[] {
  const plain = foldText(text)
  const joined = plain.replace(SPACED_LETTERS, run => ` ${run.replace(/[^\p{L}\p{N}]/gu, '')} `)
  const unbroken = plain.replace(/(?<=\p{L})[-_.*~`'"|/\\+](?=\p{L})/gu, '')
  const unleeted = plain.replace(/[\p{L}\p{N}@$!|]+/gu, word => (/\p{L}/u.test(word) ? fromLeet(word) : word))
  return [...new Set([plain, joined, unbroken, unleeted, toLatin(plain), toLatin(joined), splitIdentifiers(text)])]
}

/** The text in lower case, without compatibility forms, accents and invisible characters, with one kind of quote and of space. */
export function foldText(text: string): string {
  return text
    .normalize('NFKC')
    .normalize('NFD')
    .replace(/\p{M}|\p{Cf}|\u3164|\u115f/gu, '')
    .normalize('NFC')
    .replace(/[‘’‛ʼ`´]/g, "'")
    .replace(/[“”„«»]/g, '"')
    .replace(/\p{Pd}/gu, '-')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .toLowerCase()
    .trim()
}

/** "d r o p", "d-e-l-e-t-e": four or more single letters with one separator between each. */
const SPACED_LETTERS = /(?<!\p{L})\p{L}(?:[\s.\-_*·|/]{1,2}\p{L}(?!\p{L})){3,}/gu

const LEET: Record<string, string> = { 0: 'o', 1: 'i', 3: 'e', 4: 'a', 5: 's', 7: 't', '@': 'a', $: 's', '!': 'i' }

function fromLeet(word: string): string {
  return word.replace(/[013457@$!](?=.*\p{L})|(?<=\p{L}.*)[013457@$!]/gu, sign => LEET[sign] ?? sign)
}

/** Letters of other alphabets that look like Latin ones. */
const LOOK_ALIKES: Record<string, string> = Object.fromEntries(
  [...'аaеeоoрpсcуyхxіiјjѕsԁdһhкkмmтtвbпnгrԛqԝwαaοoρpεeτtυuνvκkιiηnωwγyχxıiɡgℓlƖl'].flatMap((letter, index, all) =>
    index % 2 === 0 ? [[letter, all[index + 1] ?? letter]] : [],
  ),
)

function toLatin(text: string): string {
  return text.replace(/[^\x20-\x7e]/gu, letter => LOOK_ALIKES[letter] ?? letter)
}

/** Splits identifiers into words: deleteAllUsers, drop_table. */
function splitIdentifiers(text: string): string {
  return foldText(text.replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, ' ').replace(/[_]+/g, ' '))
}

/**
 * What a machine never agrees to, as beginnings of words and phrases: alternatives of a regular expression that matches at the
 * start of a word, a handful per line. Accents are removed on both sides before comparing. An entry too many costs a question to
 * a person; an entry too few costs data, money or a reputation.
 */
const GRAVE = {
  destructive: String.raw`
delet|drop(?!down|-down|-in| in |let|box|zone|per|cap|shadow| shadow)|eras(e|ing|ure)|wip(e|ing)|destr(oy|uct(?!ur))|purg
truncat|nuk(e|ing)\b|remov|overwrit|overwrote|obliterat|annihilat|expung|shred|scrub|discard|trash|uninstall|clobber|flush
reset(ting|s)? (it|them|all|everything|this|\w+'?s?( \w+){0,2} (database|db|table|data|branch|head|repo|history|passwords?|accounts?|env\w*|server|device|index|schema|keys?|commits?|main|master|machine|project|tree|quota))\b|reset (database|db|data|of)\b|(do|perform|run|trigger|hard|factory|full)\w* (a |the )?(\w+ )?reset|revert|roll(ing|ed)?[ -]?back|reformat|format(ting)? [a-z]:|format(ting)? (the |my |a |your )?(disk|drive|partition|volume|usb|machine|server)
re-?initiali[sz]|re-?creat|reprovision|start(ing)? (over|fresh|anew|clean|again from)|clean slate|fresh start|factory
(rebuild|restart)\w* .{0,40}from scratch|ge?t(ting)? rid of|throw(ing)? (\w+ ){0,3}(away|out)|toss|blow(ing)? (\w+ ){0,3}(away|up)
tear(ing)? (\w+ ){0,3}down|teardown|tak(e|ing) (\w+ ){0,4}(down|offline)|shut(ting)? (\w+ ){0,4}(down|off)|shutdown
(turn|switch|power)(ing)? (\w+ ){0,4}off|pull(ing)? the plug|disabl|deactivat|decommission|dismantl|terminat|kill|sunset|retir(e|ing)
evict|suspend|prun(e|ing)|vacuum|archiv|unlink|empt(y|ying|ied) (the|out|all|every|it)|clean(ing|ed)? (out|all|every)
clean(ing|ed)? (up )?(the |our |old )?(\w+ )?(database|db|disk|table|bucket|server|data|branch|account|volume)|cleans(e|ing)
clear(ing|ed|s)? (out|the|all|every|away|it|them|down|old)|zero(ing)? out|undo|abandon|scrap(?!e|ing)|ditch|zap|vaporiz|eliminat
(run|apply|execut|perform|start|trigger|do)\w* .{0,60}migrat|alter table|cascad|squash|rebas|amend|rewrit\w* .{0,40}histor
filter-(branch|repo)|forc(e|ed|ing|ibly)\b|git (clean|gc|checkout|restore|push|reset|rm)|rm\b|rmdir|del /|mkfs|dd if|unrecoverab
sabotag|corrupt|encrypt(ing)? (all|every|the (disk|drive|files|data))|ransom|bypass|circumvent|lose|losing\b|liquidat|reimag
skip(ping)? .{0,30}(tests?|checks?|verif|hooks?|review|ci\b|valid|approval|gates?)|without (any |a )?(review|approval|verif|back-?up)
ignor(e|ing) .{0,30}(tests?|fail|checks?|secur|warning|instruction|rules?|polic|guard)|no-verify|let (it|them|\w+ \w+) go\b
cancel|unsubscrib|close (the |my |our |your )?account|free(ing)? up .{0,20}(space|disk|storage)|reclaim|sweep|exterminat|bulldoz
make .{0,40}disappear|never existed|(send|move|put) .{0,30}(bin|recycle|trash)\b|recycle bin|/dev/null|thin out|sacrific|break glass|data loss|unregister|drain(ing)? |lock(ing)? .{0,20}\bout\b`,
  publishing: String.raw`
deploy(?!ment (target|platform|provider|guide|docs|documentation|script|config|diagram|section))|redeploy|publish|unpublish
releas(?!e (notes|date))|ship(?!ment|ping address)|go(es|ing)?[ -]live|(on|onto|to) live\b|live (site|system|server|database|data|env|traffic)
mak(e|ing) .{0,40}\b(live|public|visible to|world)|roll(ing|ed)?[ -]?(\w+ ){0,3}out|launch|push(?! (notif|state|button))|auto-?merg
merg\w* .{0,50}(main|master|trunk|branch|pr\b|prs\b|pull|mr\b|releas|prod|upstream|develop\b)|merg(e|ing) (it|this|now|everything|them)\b
(open|creat|rais|fil|mak)\w* (a |the |an )?(draft )?(pull request|pr\b|merge request|mr\b|issue|ticket)|submit(?! (button|handler|event|form))
upload(?! (form|button|handler|endpoint|component|feature|widget))|post(ing|ed)? (to|on|it|them|this|a |an |the |about|our|in )
tweet|announc|broadcast|blast|mail(ing|ed)? (the|all|every|our|them|it|out|to)|mailing list|newsletter|press release|sms\b
e-?mail(s|ed|ing)? (the|all|every|our|your|them|custom|user|client|subscrib|people|it|this|him|her|a |an |everyone|out|to)
send(ing|s)?\b|sent\b|notify(ing)?|notified|messag(e|ing) (the|all|every|our|them|him|her|everyone|to)|contact(ing)? (the|all|our|them|every)
text(ing)? (the|all|every|our) (custom|user|client|people)|reach(ing)? out|invit|shar(e|ing) (it|this|the|them|our|with|to|on|a )|expos|leak
open(ing)? (up )?(the |a |all )?(port|firewall|access|source|door|gate)|promot(e|ing|ion)|cut(ting)?[ -]?over|flip the switch|pull the trigger
swap(ping)? .{0,20}(slot|traffic|dns|env|blue|green)|(switch|shift|point|rout|rerout|redirect|flip)\w* .{0,30}(traffic|dns|domain|prod)
tag(ging)? (the |a |and |it|this|v?\d)|cut(ting)? (a |the )?(new )?(releas|version|tag)|bump(ing)? .{0,20}(and|then)|propagat|syndicat
distribut(e|ing) (it|the|to|this)|(trigger|kick|start|launch)\w* .{0,30}(pipeline|workflow|deploy|action|cd\b)|app ?store|play ?store|testflight
twine|docker push|registry|crates\.io|pypi|marketplace|cdn\b|upstream|origin\b|linkedin|facebook|twitter|instagram|reddit|hacker news
available to (the )?(everyone|public|world|all|users)|out (the door|into the wild|there)|in front of (users|custom|people|the world)|fleet|canary
(hand|turn)(ing)? (\w+ ){0,3}over to|sign(ing)? (off|up|the (contract|agreement|release))|blue-green|switch-?over|mass[- ]mail|world can see|flip (it|them) on`,
  paid: String.raw`
purchas|payments?\b|buy|bought|order(ing)? (a|an|the|more|new|it|them|\d)|pay(s|ing)?\b|paid|payout|charg(e|es|ing)\b|refund|bill(ed|ing)?\b|(issu|creat|mak)\w* .{0,20}invoic
(mak|send|process|issu|submit|execut|initiat|captur|authori[sz])\w* .{0,30}payment|subscri(be|bing|ption)|licen[cs]e key|renew|rent(ing)?\b
(upgrad|downgrad)\w* .{0,40}(plan|tier|account|instance|subscri|licen)|credit ?card|debit|card on file|company card|bank\b|spend|wire (the |a |some |\W?\d|money|fund|transfer|payment)|transfer
cost(s|ing)? (money|real|about|around|extra|up|us|you)|[$€£¥₹]\s?\d|\d+([.,]\d+)? ?([$€£¥₹]|(dollar|euro|usd|eur|gbp|pounds|bucks|btc|eth)\b)
dollars?\b|bucks|donat|provision|scal(e|ing) (\w+ ){0,3}(up|down|out|to)\b|spin(ning)? up|top(ping)? up|withdraw|mint(ing)?\b|bitcoin|terms and conditions|(complet|finish)\w* (the |this |my |your )?(checkout|order|transaction|purchase|booking)
crypto ?curr|wallet|sell|bid(ding)?\b|quota increase|(enterprise|pro|premium|paid) (plan|tier)|free trial|autopay|hire|gift card|advertis|ad campaign
(gpu|bigger|larger|more|additional|extra|second|reserved|dedicated) (instance|server|node|machine|cluster|seat)s?`,
  irreversible: String.raw`
irrevers|irrevocab|irretrievab|permanent|(can ?not|can't|cannot|could not|won't|no) (be )?(undo|undone|way back|revers|going back|recover|restor|return)
one-way|for good\b|forever|once and for all|point of no|production|prod\b|prd\b|customer|clients\b(?! (side|component))|client data|end[- ]users
(real|actual|live|existing|all|every|our|paying|their) (users?|data|money|people|accounts?|records?|rows?|tables?|databases?|subscribers?|users'? .*)\b
back-?ups?\b|mainnet|everything (in|on|under|from) |(entire|whole) (database|disk|server|repo|bucket|account|directory|system|table|project|folder)
home directory|root directory|subscribers|all of (it|them)\b|user(s'|'s|s)? (data|records|accounts|files|uploads)`,
  sensitive: String.raw`
(rotat|revok|regenerat|invalidat|expir|reissu|print|dump|reveal|export|commit|past|hard-?cod|echo|exfiltrat|forward|embed|replac|cycl)\w* .{0,50}(secret|credential|passw|passphrase|keys?\b|tokens?\b|certificates?|\.env)
rotat|revok|exfiltrat|secrets?\b|credential|private[- ]keys?|ssh[- ]keys?|api[- ]keys?|access[- ]keys?|signing[- ]keys?|\.ssh|\.aws|keychain|id_rsa|\.env\b|env file
sudo|as root|root (access|privilege|user|shell)|admin(istrator)? (access|right|privilege|role|permission)|make .{0,20}admin|grant|elevat|chmod|chown|setuid
allow (all|public|any|everyone|anonymous|\*)|whitelist|firewall|two-factor|2fa\b|mfa\b|impersonat|backdoor|reverse shell|malware|keylog|eval\b
curl .{0,80}\||wget|\| ?(ba|z|da)?sh\b|powershell|base64|crontab|cron job|systemctl|iptables|terraform|tofu\b|pulumi|ansible|kubectl|helm\b|cloudformation
aws\b|gcloud|azure cli|--(force|hard|yes|prune|no-)|-rf\b|-fr\b|dangerously|pre-?approv|auto-?approv|already (been )?(approved|authori[sz]ed|consented|agreed|confirmed|cleared)
(ignore|disregard|forget|override) .{0,30}(instruction|previous|prior|above|rule|polic|system|guard)|system (prompt|message|override|:)|\[system|<system|developer mode|jailbreak
you (must|have to|are required to|should always) (answer|reply|respond|say|approve|choose|select|pick|allow)|(answer|reply|respond|say) (with )?["'](yes|approve|allow|ok)
(human|user|owner|operator|admin|boss|ceo|manager|supervisor) (has|have|already|said|says|agreed|told|confirmed|approved)\b|no need to ask|(don't|do not) (ask|tell|escalate|notify|bother)
assistant:|confidence ?[:=]|lawsuit|gdpr|nda\b|medical|patient(s|')|salary|payroll|personal data|pii\b|telemetry|tracking`,
} as const

/** Grave words of other languages, by the beginnings of words: enough to notice, not to understand. */
const GRAVE_IN_OTHER_LANGUAGES = String.raw`
(ge)?lösch|(ge)?loesch|entfern|verwerf|vernicht|zerstör|zerstoer|überschreib|ueberschreib|veröffentlich|veroeffentlich|ausroll|auszuroll|ausliefer|bereitstell
freigeb|freizugeb|(ein)?kauf|bestell|bezahl|zahlung|überweis|ueberweis|verschick|versend|kund(en|innen)|produktiv|produktion|unwiderruf|endgültig|endgueltig
zurücksetz|zuruecksetz|zurückzusetz|abschalt|kündig|leer(en|e)\b|schlüssel|widerruf|wegwerf|hochlad|hochzulad|einspiel|live ?(zu)? ?schalt|sicherung
supprim|efface|détrui|écras|vide[rz]\b|publi(er|e|ez|ons|que)\b|déploi|déploy|livrer|achet|achat|pay(er|ez|ons)\b|command(er|ez) |envoy|envoi|(les|aux|nos|vos|des) clients
irréversib|réinitialis|en ligne|révoqu|désactiv|jet(er|te)\b|sauvegarde|définitive|pouss(er|e|ez) |borr(ar|o|e|a|ado|ando)\b|borr(ar|e)(lo|la|los|las)|elimin|destru(ir|y|a|o)
sobrescri|sobreescri|publi(car|ca|co)|despleg|desplieg|lanz(ar|o|a)|compr(ar|o|a|e)\b|pag(ar|o|a|ue|are|amento)\b|envi(ar|o|a|e|ando)\b|mand(ar|a|o)\b|producción|producao
produzione|reinici|restablec|reestablec|revoc|revog|vaci(ar|o|a)\b|desactiv|desativ|subir|apag(ar|o|ue|a)\b|exclu(ir|a|o)\b|implant|lanç|redefinir|limp(ar|iar|e|ie)\b|cancell
distrugg|sovrascriv|pubblic|rilasci|acquist|invi(a|o|are)\b|azzer|svuot|disattiv|copias? de (seguridad|segurança)|client(e|es|i)\b
verwijder|wis(sen)?\b|vernietig|overschrij|publice|uitrol|uit te rollen|kopen|koop|betaal|betal|verstu|verzend|klant|productie|radera|slett|ta bort|köp|skicka|kunder
usun|usuń|skasuj|kasow|wyczyś|opublik|wdroż|wdroz|kup(ić|ic|uj|ię)\b|zapłac|zaplac|wyśl|wysl|klient|smaz|vymaz|odstran|zveřejn|koupit|zaplatit|silin|silm|sileyim|kaldır|yayın
satın|gönder|müşteri|hapus|terbitkan|beli\b|kirim|bayar|xóa|xoá|poista|julkais|töröl|kitöröl|vásárol|șterge|diagraf|gjenopprett|lansera
удал|стер|стир|очист|сброс|уничтож|перезапис|опублик|публик|разверн|выкат|релиз|деплой|задеплой|купи|покуп|оплат|заплат|отправ|клиент|прод\b|продакшн|продакшен|необратим|видал|знищ|надісл
διαγρα|δημοσι|αγορ|πληρω`

/** Words of scripts without spaces, or where the beginning of a word is hard to find: matched anywhere. */
const GRAVE_ANYWHERE = `
删除|刪除|清空|删掉|移除|销毁|覆盖|发布|發布|上线|上線|部署|推送|购买|購買|付款|支付|付费|发送|發送|邮件|客户|客戶|生产|不可逆|重置|撤销|格式化|合并|备份|密钥|强制
削除|消去|破棄|上書き|公開|デプロイ|リリース|本番|購入|支払|送信|メール|顧客|初期化|リセット|プッシュ|取り消|消して|消す|消し|マージ|バックアップ
삭제|제거|초기화|배포|출시|게시|푸시|구매|결제|전송|고객|운영|되돌릴|지우|병합
حذف|احذف|مسح|نشر|شراء|دفع|إرسال|ارسال|हटा|मिटा|डिलीट|खरीद|भुगतान|מחק|למחוק|פרסם|ลบ|ซื้อ|เผยแพร่`

/** Everyday phrases that contain a grave word; they are removed before the rest is checked. */
const HARMLESS = String.raw`
(remov|delet|dropp|discard)\w* (the |an? |any |some |all )?(unused|dead|duplicated?|redundant|leftover|debug|commented-out|unneeded|trailing|extra) (imports?|variables?|code|comments?|logs?|logging|white ?space|semicolons?|parameters?|arguments?|statements?|lines?|spaces?|blank lines?|console\.logs?|types?|exports?)
(the |a |an )?(delete|remove|reset|cancel|submit|publish|share|archive|clear|upload|pay|buy|logout|send|release) (button|endpoint|route|handler|method|modal|dialog|form|icon|label|link|flow|page|menu item)
(the |a )?(password|pin)[ -]reset( (flow|form|page|token|endpoint|link))?|reset[ -]password (flow|form|page|endpoint)|soft[- ]delet(e|es|ion|ing)( (flag|column|support|logic))?
release notes|push notifications?|drag[ -]and[ -]drop|drop-?downs?|payment (provider|form|module|page|integration|gateway|endpoint|flow|service|method|api|component|model|type|status|history|view|screen|feature|logic|handler)s?|css reset|in order to
email (field|address|template|validation|validator|format|column|input|provider|service)|shared? (types?|module|component|code|state|library|folder|package)|cancel(lation)? ?token`

/**
 * Why a machine must not agree to this text, or undefined: it names something destructive, paid, publishing, irreversible or
 * sensitive, in whatever words, language or disguise; or it cannot be read.
 */
export function findGraveWords(text: string): string | undefined {
  if (text.length > LONGEST) return 'it is too long to be checked'
  for (const reading of normalizedReadings(text)) {
    const rest = reading.replace(HARMLESS_PHRASE, ' ')
    for (const [kind, pattern] of PATTERNS) {
      const match = pattern.exec(rest)
      if (match) return `it names something ${kind} ("${match[0].trim().slice(0, 60)}")`
    }
  }
  const opaque = OPAQUE.exec(text)
  return opaque ? `it contains text that cannot be read ("${opaque[0].slice(0, 20)}…")` : undefined
}

const LONGEST = 20_000

/** Encoded text, of which nobody knows the meaning. Paths and names have separators or are shorter. */
const OPAQUE =
  /[A-Za-z0-9+/]{40,}={0,2}|(?:%[0-9a-f]{2}){3}|(?:\\x[0-9a-f]{2}){2}|(?:\\u[0-9a-f]{4}){2}|(?:&#x?[0-9a-f]+;){2}|(?:\b[01]{8}\b ?){3}/i

const alternatives = (lines: string) => lines.trim().split('\n').join('|')
const atWordStart = (lines: string) =>
  new RegExp(`(?<![\\p{L}\\p{N}])(?:${foldText(alternatives(lines))})[\\p{L}]*`, 'u')

const HARMLESS_PHRASE = new RegExp(`(?<![\\p{L}\\p{N}])(?:${alternatives(HARMLESS)})(?![\\p{L}])`, 'gu')

const PATTERNS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ...Object.entries(GRAVE).map(([kind, lines]) => [kind, atWordStart(lines)] as const),
  ['grave in another language', atWordStart(GRAVE_IN_OTHER_LANGUAGES)],
  ['grave in another language', new RegExp(foldText(alternatives(GRAVE_ANYWHERE)), 'u')],
]
