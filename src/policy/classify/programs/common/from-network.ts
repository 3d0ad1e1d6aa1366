import type { Call } from '../../call.ts'

/** Whether what a program is fed was fetched in the same pipe. */
export function comesFromNetwork(call: Call): boolean {
  return (call.feed.upstream ?? []).some(({ words }) =>
    words.some(word => /^(\/usr\/bin\/)?(curl|wget|http|https|xh|aria2c|nc|ncat|socat|ssh|ftp|lynx)$/.test(word.value)),
  )
}
