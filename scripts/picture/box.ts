/** The sides of its cell that a box-drawing character connects: up, right, down, left. */
const ARMS: Record<string, string> = {
  '─': 'rl',
  '│': 'ud',
  '╭': 'rd',
  '╮': 'dl',
  '╰': 'ur',
  '╯': 'ul',
  '┌': 'rd',
  '┐': 'dl',
  '└': 'ur',
  '┘': 'ul',
  '├': 'urd',
  '┤': 'udl',
  '┬': 'rdl',
  '┴': 'url',
  '┼': 'urdl',
}

/** Whether a character is drawn as lines. Fonts disagree about their height, and boxes would have gaps. */
export function isBox(character: string): boolean {
  return character in ARMS
}

/** The lines of a box-drawing character as an SVG path inside the cell at x, y. */
export function boxPath(
  character: string,
  { x, y, width, height }: Record<'x' | 'y' | 'width' | 'height', number>,
): string {
  const middle = { x: round(x + width / 2), y: round(y + height / 2) }
  const ends: Record<string, [number, number]> = {
    u: [middle.x, round(y)],
    r: [round(x + width), middle.y],
    d: [middle.x, round(y + height)],
    l: [round(x), middle.y],
  }
  const arms = [...(ARMS[character] ?? '')].map(side => ends[side] ?? [middle.x, middle.y])
  const [first, second] = arms
  if ('╭╮╰╯'.includes(character) && first && second) {
    return `M${first.join(' ')}Q${middle.x} ${middle.y} ${second.join(' ')}`
  }
  return arms.map(end => `M${middle.x} ${middle.y}L${end.join(' ')}`).join('')
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
