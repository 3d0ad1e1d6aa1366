import { makeRandom } from './learn/stream.ts'

/**
 * Long conversations with questions about them. Two people talk in many sessions about the same few subjects, each time with other details. What
 * answers a question is one turn; often it says only "it was in Lisbon, with my sister", and what it is about was said just before. Questions
 * name the speaker, the subject (often in another word), sometimes the month, and never the answer. Made from how
 * such sets are described, and changed once after a first look at what the ranking did with it: paraphrase, reference to neighbours, distractors by the same speaker and by the other one.
 */
export interface Conversation {
  turns: { speaker: string; text: string; session: string; time: number }[]
  questions: { text: string; evidence: number }[]
}

const NAMES = ['Caroline', 'Melanie', 'Joanna', 'Nathan', 'Deborah', 'Andrew', 'Maria', 'Tobias', 'Evelyn', 'Samuel']
/** Each with other words for the same. The first is what people say, a question takes any of them. */
const SUBJECTS = [
  ['pottery class', 'ceramics course'],
  ['marathon', 'long race'],
  ['guitar lessons', 'music lessons'],
  ['garden', 'vegetable beds'],
  ['camping trip', 'nights in the tent'],
  ['job interview', 'application'],
  ['charity auction', 'fundraiser'],
  ['dog', 'puppy'],
  ['painting', 'canvas'],
  ['kitchen renovation', 'remodelling'],
  ['book club', 'reading group'],
  ['road trip', 'drive across the country'],
  ['yoga retreat', 'wellness weekend'],
  ['chess tournament', 'chess competition'],
  ['baking contest', 'cake competition'],
  ['adoption agency', 'adoption office'],
  ['photography workshop', 'camera course'],
  ['hiking trail', 'mountain path'],
  ['startup', 'new company'],
  ['choir concert', 'singing performance'],
  ['swimming lessons', 'pool training'],
  ['car repair', 'broken engine'],
  ['wedding', 'marriage ceremony'],
  ['exam', 'test at university'],
  ['telescope', 'stargazing'],
  ['volunteering', 'work at the shelter'],
]
/** What is asked, what the answer says, and how the other one asks for it. */
const DETAILS = [
  {
    ask: (who: string, what: string) => `Where did ${who} go for the ${what}?`,
    says: (x: string) => `in ${x}`,
    from: [
      'Lisbon',
      'the harbour district',
      'Vermont',
      'an old barn',
      'Kyoto',
      'the lake house',
      'Denver',
      'my uncle’s farm',
    ],
  },
  {
    ask: (who: string, what: string) => `Who helped ${who} with the ${what}?`,
    says: (x: string) => `${x} gave me a hand`,
    from: [
      'my sister',
      'an old colleague',
      'our neighbour Pete',
      'my grandmother',
      'a friend from school',
      'Dr. Lindqvist',
    ],
  },
  {
    ask: (who: string, what: string) => `What did ${who} buy for the ${what}?`,
    says: (x: string) => `so I picked up ${x}`,
    from: [
      'a red backpack',
      'three brushes',
      'a used bicycle',
      'new boots',
      'a copper kettle',
      'two lamps',
      'a tripod',
    ],
  },
  {
    ask: (who: string, what: string) => `Why was ${who} unhappy about the ${what}?`,
    says: (x: string) => `honestly, ${x} spoiled it for me`,
    from: ['the heavy rain', 'the long queue', 'a rude organiser', 'my sore knee', 'the noise next door', 'the price'],
  },
  {
    ask: (who: string, what: string) => `How long did the ${what} of ${who} take?`,
    says: (x: string) => `it took ${x} altogether`,
    from: ['two weeks', 'forty minutes', 'the whole summer', 'six months', 'a single afternoon'],
  },
]
const OPENERS = [
  'I finally did the {} I told you about.',
  'So, the {} is behind me now!',
  'Guess what, I spent the day on my {}.',
  'You remember the {}, right?',
  'The {} kept me busy this week.',
]
const PROMPTS = [
  'Oh nice, tell me more!',
  'Really? How was that?',
  'Wow, I did not expect that. And?',
  'That sounds great, how did it go?',
  'Go on, I want all the details.',
]
const ANSWERS = [
  'Well, {}, and I would do it again.',
  'It went fine, {}.',
  'Mostly good, {}, you know how it is.',
  'Hard to say, {}. I am still tired.',
]
const WHOLE = ['About the {0}: {1}, and I would do it again.', 'With the {0} it was like this, {1}.']
/** Something that happened besides: what a turn tells and how a question calls it. */
const ASIDES = [
  ['after the storm broke our fence', 'the broken fence'],
  ['while my cousin was visiting', 'the visit of a cousin'],
  ['because the train was cancelled', 'the cancelled train'],
  ['with the money from the raffle', 'the raffle'],
  ['right before my birthday', 'the birthday'],
  ['although I had a fever', 'the fever'],
  ['since the library was closed', 'the closed library'],
  ['thanks to a coupon from the bakery', 'the coupon'],
  ['during the power cut', 'the lack of electricity'],
  ['in spite of the flooded basement', 'the water in the cellar'],
  ['as the doctor recommended', 'medical advice'],
  ['when my laptop was stolen', 'the theft of a computer'],
  ['on the way back from the airport', 'the flight home'],
  ['instead of the theatre evening', 'the play'],
] as const
const SMALL_TALK = [
  'How are the kids doing?',
  'The weather has been strange lately.',
  'I should sleep more, honestly.',
  'Did you see the game last night?',
  'Work is the same as always.',
  'We should meet for coffee soon.',
  'I am reading a lot at the moment.',
  'My phone is broken again.',
  'That is so true.',
  'Thanks, that means a lot to me!',
]
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]

export function makeConversation(seed: number, sessions = 20): Conversation {
  const random = makeRandom(seed)
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const [first = '', second = ''] = NAMES.toSorted(() => random() - 0.5)
  const conversation: Conversation = { turns: [], questions: [] }
  const asked = new Set<string>()
  let time = Date.UTC(2025, 1, 3)
  for (let n = 0; n < sessions; n += 1) {
    time += (4 + 14 * random()) * 86_400_000
    const session = `s-${String(n).padStart(6, '0')}`
    const say = (speaker: string, text: string) => {
      time += 20_000
      conversation.turns.push({ speaker, text: `${speaker}: ${text}`, session, time })
      return conversation.turns.length - 1
    }
    for (let topic = 0; topic < 3; topic += 1) {
      const [speaker, other] = random() < 0.5 ? [first, second] : [second, first]
      const subject = pick(SUBJECTS)
      const detail = pick(DETAILS)
      const value = detail.says(pick(detail.from))
      const aside = pick(ASIDES)
      say(speaker, pick(OPENERS).replace('{}', subject[0] ?? ''))
      if (random() < 0.5) say(other, pick(PROMPTS))
      const isWhole = random() < 0.35
      const told = `${value} ${aside[0]}`
      const answer = isWhole
        ? pick(WHOLE)
            .replace('{0}', subject[0] ?? '')
            .replace('{1}', told)
        : pick(ANSWERS).replace('{}', told)
      const evidence = say(speaker, answer)
      say(other, pick(SMALL_TALK))
      while (random() < 0.5) say(random() < 0.5 ? first : second, pick(SMALL_TALK))
      // The same subject and detail by the same speaker would have two answers, unless the month is named.
      const key = `${speaker} ${subject[0]} ${DETAILS.indexOf(detail)}`
      const month = new Date(time).getUTCMonth()
      if (asked.has(key)) continue
      asked.add(key)
      const named = random() < 0.3 ? (subject[1] ?? '') : (subject[0] ?? '')
      const when = random() < 0.2 ? ` in ${MONTHS[month]} ${new Date(time).getUTCFullYear()}` : ''
      const also = random() < 0.5 ? `, the time with ${aside[1]}` : ''
      const text = detail.ask(speaker, named).replace(/\?$/, `${also}${when}?`)
      conversation.questions.push({ text, evidence })
    }
  }
  return conversation
}
