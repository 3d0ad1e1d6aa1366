/** A stretch of the day by the wall clock, in minutes after midnight; one whose end is not after its start goes past midnight. */
export interface Hours {
  from: number
  to: number
}

const RANGE = /^(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)$/

/** Reads `22:00-07:00` or several such, with commas between; undefined where that is not what it says. */
export function readHours(text: string): Hours[] | undefined {
  const ranges = text.split(',').map(part => readRange(part.replaceAll(' ', '')))
  return ranges.every(range => range !== undefined) ? ranges : undefined
}

function readRange(text: string): Hours | undefined {
  const [, h1, m1, h2, m2] = RANGE.exec(text) ?? []
  const from = minutes(h1, m1)
  const to = minutes(h2, m2)
  // Two equal ends could mean never or always; 00:00-24:00 says always.
  if (from === undefined || to === undefined || from === to || from === 1440) return undefined
  return { from, to }
}

function minutes(hours: string | undefined, rest: string | undefined): number | undefined {
  const at = Number(hours) * 60 + Number(rest)
  return Number(rest) < 60 && at <= 1440 ? at : undefined
}
