/** A period of the day by the wall clock, in minutes after midnight. If its end is not after its start, it goes past midnight. */
export interface Hours {
  from: number
  to: number
}

const RANGE = /^(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)$/

/** Parses `22:00-07:00`, or several such ranges separated by commas; undefined if the text is invalid. */
export function readHours(text: string): Hours[] | undefined {
  const ranges = text.split(',').map(part => parseRange(part.replaceAll(' ', '')))
  return ranges.every(range => range !== undefined) ? ranges : undefined
}

function parseRange(text: string): Hours | undefined {
  const [, h1, m1, h2, m2] = RANGE.exec(text) ?? []
  const from = parseMinutes(h1, m1)
  const to = parseMinutes(h2, m2)
  // Two equal ends could mean never or always; 00:00-24:00 means always.
  if (from === undefined || to === undefined || from === to || from === 1440) return undefined
  return { from, to }
}

function parseMinutes(hours: string | undefined, rest: string | undefined): number | undefined {
  const at = Number(hours) * 60 + Number(rest)
  return Number(rest) < 60 && at <= 1440 ? at : undefined
}
