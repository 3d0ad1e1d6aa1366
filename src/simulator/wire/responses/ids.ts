/** The id of a call tells of which answer it is: agents may put what a call gave back between two calls of one answer. */
export function callId(answerId: string, at: number): string {
  return `call_${answerId}_${at}`
}

/** Whether two calls were made by one answer. */
export function sameAnswer(first: string | undefined, second: string | undefined): boolean {
  const answer = answerOf(first)
  return answer !== undefined && answer === answerOf(second)
}

function answerOf(id: string | undefined): string | undefined {
  return /^call_(resp_sim_[0-9a-f]+)_\d+$/.exec(id ?? '')?.[1]
}
