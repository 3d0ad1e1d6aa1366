/**
 * Makes text of an agent, a tool or a file safe to show, and hides nothing of it: control characters, escape sequences and
 * characters without a width or of another direction are drawn (`␛]0;`, `⟨U+202E⟩`), so that nothing can move the cursor,
 * end a line early or look like another command.
 */
export function neutral(text: string): string {
  if (!/[^\x20-\x7e\n]/.test(text)) return text
  return text
    .replaceAll('\r\n', '\n')
    .toWellFormed()
    .replaceAll('\t', '  ')
    .replace(/[\x00-\x09\x0b-\x1f]/g, char => String.fromCharCode(0x2400 + char.charCodeAt(0)))
    .replaceAll('\x7f', '␡')
    .replace(INVISIBLE, drawCode)
}

/** The same for the output of a program: its colours are dropped, and a line that is written over is a line of its own. */
export function neutralOutput(text: string): string {
  return neutral(text.replace(COLOURS, '').replace(/\r+\n?/g, '\n'))
}

/** Colours, and `erase to the end of the line`, which many programs print with them. They hold nothing but numbers. */
const COLOURS = /\x1b\[[0-9;:]{0,40}[mK]/g

/**
 * Characters that change the direction of text, separate lines or have no width: two different commands must not look the same.
 * Joiners are kept inside emoji and in scripts that need them, but not next to ASCII characters.
 */
const INVISIBLE =
  /[\x80-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|\u034f|[\u180b-\u180d]|[\ufe00-\ufe0d]|(?<=[\x20-\x7e])[\u200c\u200d]|[\u200c\u200d](?=[\x20-\x7e])/gu

function drawCode(char: string): string {
  return `⟨U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`
}
