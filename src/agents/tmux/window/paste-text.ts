/** What a line of input begins with where Claude Code takes it for something else than words: a command, a shell line, a memory. */
const SPECIAL = /^\s*[/!#&@?]/

/** Put before such a text, on a line of its own: a space would be cut off again. */
const BEFORE = 'What is to be done:'

/**
 * A prompt as it can be pasted. Control characters would be keys (the end of a bracketed paste among them, behind which whatever
 * follows is typed), so only line ends and tabs stay. A text that begins like a command is led in by a line of words: a pasted
 * `!rm …` is run by Claude Code at once, without a call that anybody could judge.
 */
export function pasteText(prompt: string): string {
  const lines = prompt.replace(/\r\n?/g, '\n')
  const words = lines.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '').replace(/[\u2028\u2029]/g, '\n')
  return SPECIAL.test(words) ? `${BEFORE}\n${words}` : words
}
