import type { RememberedAnswer } from '../../domain/remembered-answer.ts'

const MOST = 5
/** Below this two questions share only words that every question has. */
const LEAST = 0.25

/** Remembered answers to questions that share the most words with this one, nearest first. */
export function nearest<Row extends Pick<RememberedAnswer, 'asked'>>(question: string, rows: readonly Row[]): Row[] {
  const words = wordsOf(question)
  return rows
    .map(row => ({ row, share: overlap(words, wordsOf(row.asked)) }))
    .filter(({ share }) => share >= LEAST)
    .sort((left, right) => right.share - left.share)
    .slice(0, MOST)
    .map(({ row }) => row)
}

/** What two sets have in common, of all that either has. */
function overlap(left: Set<string>, right: Set<string>): number {
  const common = left.intersection(right).size
  return common === 0 ? 0 : common / left.union(right).size
}

function wordsOf(text: string): Set<string> {
  const words =
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}_+#]+/gu) ?? []
  return new Set(words.filter(word => !COMMON.has(word)))
}

const COMMON = new Set(
  'a an the i we you it is are be do does did should would could can may shall will what which who how where when why to of in on for with and or as at by from use want like need my our your me us'.split(
    ' ',
  ),
)
