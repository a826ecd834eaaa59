f:
	push	rbp
	mov	rbp, rsp
	sub	rsp, 32
	mov	DWORD PTR -20[rbp], edi
	mov	DWORD PTR -4[rbp], 98
	mov	QWORD PTR -16[rbp], 65
	mov	eax, DWORD PTR -20[rbp]
	and	eax, 15
	cmp	eax, 1992
	je	.L2
	cmp	eax, 1992
	jg	.L3
	cmp	eax, 1794
	je	.L4
	cmp	eax, 1794
	jg	.L3
	cmp	eax, 1726
	je	.L5
	cmp	eax, 1726
	jg	.L3
	cmp	eax, 1272
	je	.L6
	cmp	eax, 1272
	jg	.L3
	cmp	eax, 863
	je	.L7
	cmp	eax, 863
	jg	.L3
	cmp	eax, 833
	je	.L8
	cmp	eax, 833
	jg	.L3
	cmp	eax, 759
	je	.L9
	cmp	eax, 759
	jg	.L3
	cmp	eax, 533
	je	.L10
	cmp	eax, 533
	jg	.L3
	cmp	eax, 234
	je	.L11
	cmp	eax, 234
	jg	.L3
	cmp	eax, -184
	je	.L12
	cmp	eax, -184
	jg	.L3
	cmp	eax, -233
	je	.L13
	cmp	eax, -233
	jg	.L3
	cmp	eax, -655
	je	.L14
	cmp	eax, -655
	jg	.L3
	cmp	eax, -800
	je	.L14
	cmp	eax, -800
	jg	.L3
	cmp	eax, -1253
	je	.L15
	cmp	eax, -1253
	jg	.L3
	cmp	eax, -1898
	je	.L16
	cmp	eax, -1290
	je	.L17
	jmp	.L3
.L14:
	mov	edx, DWORD PTR -20[rbp]
	mov	eax, edx
	sal	eax, 3
	add	eax, edx
	add	eax, eax
	mov	DWORD PTR -4[rbp], eax
	jmp	.L18
.L16:
	mov	rax, QWORD PTR -16[rbp]
	mov	rdi, rax
	call	g2@PLT
	mov	DWORD PTR -4[rbp], eax
	jmp	.L18
.L6:
	mov	rax, QWORD PTR -16[rbp]
	add	eax, 16
	mov	DWORD PTR -4[rbp], eax
	cmp	DWORD PTR -4[rbp], 580
	jg	.L19
	mov	eax, DWORD PTR -20[rbp]
	or	eax, 583
	cdqe
	mov	QWORD PTR -16[rbp], rax
.L19:
	mov	eax, 25
	jmp	.L20
.L8:
	mov	rax, QWORD PTR -16[rbp]
	mov	edi, eax
	call	g0@PLT
	mov	DWORD PTR -4[rbp], eax
	jmp	.L18
.L9:
	mov	esi, 6
	mov	edi, -6
	call	g1@PLT
	mov	DWORD PTR -4[rbp], eax
	mov	eax, DWORD PTR -4[rbp]
	mov	esi, eax
	mov	edi, -10
	call	g1@PLT
	cdqe
	mov	QWORD PTR -16[rbp], rax
	add	QWORD PTR -16[rbp], 8
.L12:
	mov	rax, QWORD PTR -16[rbp]
	mov	esi, 629
	mov	edi, eax
	call	g1@PLT
	cdqe
	mov	QWORD PTR -16[rbp], rax
	mov	eax, DWORD PTR -4[rbp]
	cdqe
	mov	QWORD PTR -16[rbp], rax
	mov	eax, 57
	jmp	.L20
.L7:
	sal	DWORD PTR -4[rbp], 6
.L11:
	mov	DWORD PTR -4[rbp], 261
	jmp	.L18
.L2:
	mov	rax, QWORD PTR -16[rbp]
	mov	DWORD PTR -4[rbp], eax
	mov	eax, DWORD PTR -20[rbp]
	cdqe
	cmp	QWORD PTR -16[rbp], rax
	jle	.L21
	mov	rax, QWORD PTR -16[rbp]
	mov	edx, eax
	mov	eax, DWORD PTR -20[rbp]
	imul	eax, edx
	mov	DWORD PTR -4[rbp], eax
	mov	eax, DWORD PTR -20[rbp]
	mov	DWORD PTR -4[rbp], eax
.L21:
	mov	eax, DWORD PTR -20[rbp]
	xor	eax, 18
	mov	DWORD PTR -4[rbp], eax
	jmp	.L18
.L10:
	sal	DWORD PTR -4[rbp], 5
	mov	eax, DWORD PTR -20[rbp]
	and	DWORD PTR -4[rbp], eax
	sar	QWORD PTR -16[rbp], 4
.L17:
	cmp	QWORD PTR -16[rbp], 659
	jg	.L22
	mov	eax, DWORD PTR -20[rbp]
	mov	edi, eax
	call	g0@PLT
	mov	DWORD PTR -4[rbp], eax
	mov	eax, DWORD PTR -20[rbp]
	cdqe
	xor	QWORD PTR -16[rbp], rax
	jmp	.L23
.L22:
	mov	QWORD PTR -16[rbp], 201
.L23:
	mov	rax, QWORD PTR -16[rbp]
	mov	edx, eax
	mov	eax, DWORD PTR -20[rbp]
	mov	esi, eax
	mov	edi, edx
	call	g1@PLT
	mov	DWORD PTR -4[rbp], eax
	mov	eax, 11
	jmp	.L20
.L5:
	mov	eax, DWORD PTR -20[rbp]
	or	eax, 81
	mov	DWORD PTR -4[rbp], eax
	mov	eax, DWORD PTR -4[rbp]
	jmp	.L20
.L4:
	mov	edx, DWORD PTR -20[rbp]
	mov	eax, DWORD PTR -4[rbp]
	add	eax, edx
	cdqe
	mov	QWORD PTR -16[rbp], rax
	mov	rax, QWORD PTR -16[rbp]
	mov	DWORD PTR -4[rbp], eax
	sar	DWORD PTR -4[rbp], 2
	jmp	.L18
.L13:
	mov	eax, DWORD PTR -20[rbp]
	mov	DWORD PTR -4[rbp], eax
	cmp	DWORD PTR -4[rbp], 414
	jne	.L24
	mov	rax, QWORD PTR -16[rbp]
	mov	edx, eax
	mov	eax, DWORD PTR -4[rbp]
	add	eax, edx
	mov	DWORD PTR -4[rbp], eax
	jmp	.L25
.L24:
	mov	rax, QWORD PTR -16[rbp]
	mov	esi, eax
	mov	edi, -10
	call	g1@PLT
	cdqe
	mov	QWORD PTR -16[rbp], rax
.L25:
	mov	edx, DWORD PTR -20[rbp]
	mov	eax, DWORD PTR -4[rbp]
	add	eax, edx
	cdqe
	mov	QWORD PTR -16[rbp], rax
	mov	eax, DWORD PTR -4[rbp]
	sub	eax, DWORD PTR -20[rbp]
	cdqe
	mov	QWORD PTR -16[rbp], rax
	jmp	.L18
.L15:
	cmp	DWORD PTR -20[rbp], 371
	je	.L26
	mov	rax, QWORD PTR -16[rbp]
	mov	esi, 35
	mov	edi, eax
	call	g1@PLT
	cdqe
	mov	QWORD PTR -16[rbp], rax
	mov	rax, QWORD PTR -16[rbp]
	mov	edx, eax
	mov	eax, DWORD PTR -20[rbp]
	mov	esi, eax
	mov	edi, edx
	call	h2@PLT
.L26:
	mov	eax, DWORD PTR -4[rbp]
	jmp	.L20
.L3:
	mov	eax, DWORD PTR -20[rbp]
	cdqe
	mov	rdx, QWORD PTR -16[rbp]
	imul	rax, rdx
	mov	QWORD PTR -16[rbp], rax
	mov	eax, DWORD PTR -20[rbp]
	sal	eax, 3
	mov	DWORD PTR -4[rbp], eax
	nop
.L18:
	add	DWORD PTR -4[rbp], 422
	mov	eax, DWORD PTR -4[rbp]
.L20:
	leave
	ret
	.size	f, .-f
