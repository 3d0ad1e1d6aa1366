import { folded } from '../grave/revealed.ts'

/** The words of a text in one spelling: lower case, plural and everyday short forms evened out. */
export function tokens(text: string): string[] {
  return (folded(text).match(/[\p{L}\p{N}][\p{L}\p{N}+#]*(?:\.[\p{L}\p{N}]+)*/gu) ?? []).map(spelling)
}

/** Words that say what a text is about. */
export function contentTokens(text: string): string[] {
  return tokens(text).filter(token => !EMPTY.has(token))
}

/** Whether `part` stands in `whole`, in one piece and in order. */
export function holds(whole: readonly string[], part: readonly string[]): boolean {
  if (part.length === 0) return false
  return whole.some((_, start) => part.every((token, index) => whole[start + index] === token))
}

function spelling(token: string): string {
  const same = SAME.get(token)
  if (same) return same
  const singular =
    /[^s]s$/.test(token) && token.length > 4 && !/(is|us|css|js|os)$/.test(token) ? token.slice(0, -1) : token
  return SAME.get(singular) ?? singular
}

const SAME = new Map(
  `postgresql postgres pg psql|mongodb mongo|javascript js|typescript ts|kubernetes k8s|python py python3|golang go|database db databases
authentication auth authorization authorisation login|node.js node nodejs|next.js next nextjs|vue.js vue vuejs|react.js reactjs|test testing tests spec specs
style styling styles css|directory folder dir|repository repo|configuration config|documentation docs doc|jwt jwts|mysql my-sql|sqlite sqlite3
tailwind tailwindcss|expiry expiration expires lifetime ttl|yes yep yeah true|no nope false|log logging logger logs|package packages dependency dependencies`
    .split(/[|\n]/)
    .flatMap(line => {
      const [first = '', ...others] = line.split(' ')
      return others.map(other => [other, first] as const)
    }),
)

const EMPTY = new Set(
  `a an the this that these those it its i we you me us my our your to of for in on at by with from as is are be been was were do does did
should shall can could may might must will would want like prefer use using used which what where how who when if or and not so also please
there any some all new one ones would-be need needs have has into about than then now up out want ok okay project code app application
add adds adding make making let more other just each per via whether here`.split(/\s+/),
)
